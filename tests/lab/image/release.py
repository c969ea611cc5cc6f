# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian releases that an image is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """suite: its name in the archive. python_version: of its /usr/bin/python3, for which wheels are fetched."""

    suite: str
    python_version: str


BOOKWORM = Release("bookworm", "3.11")
TRIXIE = Release("trixie", "3.13")
RELEASES = {release.suite: release for release in (BOOKWORM, TRIXIE)}
