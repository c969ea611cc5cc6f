# SPDX-License-Identifier: GPL-3.0-or-later
"""Each file names its licence."""

from __future__ import annotations

from pathlib import Path

LINE = "SPDX-License-Identifier: GPL-3.0-or-later"
# Formats without comments, recordings that must stay byte for byte, and the licence itself.
WITHOUT_COMMENTS = {".json", ".jsonl"}
RECORDINGS = {"samples", "recordings"}
EXEMPT = {Path("COPYING"), Path("changelogs/changelog.yaml")}


def lacks_licence_line(path: Path, content: str) -> bool:
    """True when a file that can hold a comment has no licence line among its first ten lines."""
    if path in EXEMPT or path.suffix in WITHOUT_COMMENTS or RECORDINGS & set(path.parts):
        return False
    return not any(LINE in line for line in content.splitlines()[:10])
