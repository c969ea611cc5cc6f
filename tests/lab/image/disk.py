# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns a tree into the ext4 image that guests boot from."""

from __future__ import annotations

from pathlib import Path

from tests.lab.command import run_checked

SIZE = "16G"


def make_disk(tree: Path, image: Path) -> None:
    """The file is sparse: it takes the space of what is in it. The small journal lets a power cut be survived."""
    argv = ["mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(tree), "-m", "0", "-J", "size=16"]
    argv += ["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", str(image), SIZE]
    run_checked(argv, timeout_seconds=300)
    image.chmod(0o600)
