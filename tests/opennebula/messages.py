# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests and responses between the HTTP servers and the pure functions that answer them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

JSON_TYPE = "application/json;charset=utf-8"
HTML_TYPE = "text/html;charset=utf-8"


@dataclass(frozen=True)
class Request:
    """One HTTP request. ``headers`` has lower-case names, ``query`` the last value of each name."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def text(self) -> str:
        return self.body.decode("utf-8", errors="surrogateescape")


class Delivery(Enum):
    """How much of a response reaches the client."""

    WHOLE = "whole"
    #: Half of the body that the header announces, then the connection ends.
    CUT_SHORT = "cut short"
    #: Nothing: the connection is reset.
    NOTHING = "nothing"


@dataclass(frozen=True)
class Response:
    """One HTTP response; no content type means that it has no body."""

    status: int
    body: str = ""
    content_type: str | None = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = Delivery.WHOLE


def compact_json(value: Any) -> str:
    """JSON as the real servers write it: without blanks, with UTF-8 as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
