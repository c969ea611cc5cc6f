# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpack chosen collections out of PyPI's `ansible` wheel.

Usage: unpack_collections.py WHEEL TARGET < names, one `namespace.name` a line.
TARGET becomes a collections path (it gets a folder `ansible_collections`).
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def unpack(wheel: Path, target: Path, names: list[str]) -> None:
    """Unpack each collection of `names`; exits with a sentence when the wheel lacks one."""
    with zipfile.ZipFile(wheel) as archive:
        members = archive.namelist()
        for name in names:
            namespace, _dot, collection = name.partition(".")
            prefix = f"ansible_collections/{namespace}/{collection}/"
            wanted = [member for member in members if member.startswith(prefix)]
            if not wanted:
                sys.exit(f"{wheel.name} holds no collection {name}")
            archive.extractall(target, wanted)


if __name__ == "__main__":
    unpack(Path(sys.argv[1]), Path(sys.argv[2]), sys.stdin.read().split())
