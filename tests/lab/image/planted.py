# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret of the builder's, put into each image before it is sealed: an image that still has it is refused."""

from __future__ import annotations

from pathlib import Path

PLANTED_KEY = "root/.ssh/id_ed25519"


def plant(tree: Path) -> None:
    """Write what looks like a private key. No key is in it."""
    path = tree / PLANTED_KEY
    path.parent.mkdir(mode=0o700, exist_ok=True)
    frame = "-----{} OPENSSH PRIVATE KEY-----"
    path.write_text("\n".join([frame.format("BEGIN"), "planted", frame.format("END"), ""]))
    path.chmod(0o600)
