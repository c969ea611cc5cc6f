# SPDX-License-Identifier: GPL-3.0-or-later
"""The files this repository consists of."""

from __future__ import annotations

import subprocess
from pathlib import Path

SHELL_SHEBANGS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash", "#!/usr/bin/env sh")


def files(root: Path, with_symlinks: bool = False) -> list[Path]:
    """Tracked files and new ones that are not ignored, relative to `root`, sorted."""
    listing = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    paths = sorted(Path(name) for name in set(listing.split("\0")) if name)
    return [path for path in paths if (root / path).is_file() and (with_symlinks or not (root / path).is_symlink())]


def text(path: Path) -> str | None:
    """Content of a text file, None for a binary one."""
    content = path.read_bytes()
    return None if b"\0" in content else content.decode(errors="replace")


def shell_scripts(root: Path) -> list[Path]:
    """Shell scripts by their name or first line; templates are not scripts yet."""
    found = []
    for path in files(root):
        if path.suffix in {".j2", ".md"}:
            continue
        first_line = ((text(root / path) or "").splitlines() or [""])[0]
        if path.suffix == ".sh" or first_line.startswith(SHELL_SHEBANGS):
            found.append(path)
    return found
