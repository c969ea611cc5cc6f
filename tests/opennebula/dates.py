# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``Date`` header: the real servers send none, a proxy in front of one does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate

from tests.opennebula.messages import Response


class Dates:
    """By server, how far the clock of the proxy in front of it is ahead, in seconds; without an entry no proxy."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.offsets_seconds: dict[str, float] = {}

    def dated(self, server: str, response: Response) -> Response:
        """The response as it passes the proxy."""
        offset = self.offsets_seconds.get(server)
        if offset is None:
            return response
        return replace(response, headers={**response.headers, "Date": formatdate(self._now() + offset, usegmt=True)})
