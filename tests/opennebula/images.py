# SPDX-License-Identifier: GPL-3.0-or-later
"""Disk images: names to look up; no guest of the simulator boots one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """One image, READY.

    :param registered_at: epoch seconds.
    """

    id: int
    name: str
    registered_at: int
    size_mib: int = 2048
    persistent: bool = False
