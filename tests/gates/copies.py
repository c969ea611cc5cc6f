# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of the collection outside of the checkout."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.checks.repository import files

# Of tests/, what ansible-test takes for the collection's own: the tests of its plugins, and what they need. The lab and
# the OpenNebula simulator are programs beside the collection, which ruff looks after.
ANSIBLE_TEST_PATHS = (
    "tests/__init__.py",
    "tests/conftest.py",
    "tests/checks/__init__.py",
    "tests/checks/environment.py",
    "tests/contract/recordings",
    "tests/sanity",
    "tests/unit/conftest.py",
    "tests/unit/plugins",
    "tests/unit/requirements.txt",
    "tests/unit/samples",
)


def copy_files(source: Path, names: Iterable[Path], target: Path) -> None:
    """Copies files (relative to source) with their modes; target is made."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name, follow_symlinks=False)


def copy_for_ansible_test(root: Path, collections: Path) -> Path:
    """The collection of the checkout `root`, at the place below `collections` where ansible-test wants it."""
    target = collections / "ansible_collections" / "onehpc" / "ondemand"
    copy_files(root, (name for name in files(root) if _belongs(name)), target)
    return target


def _belongs(name: Path) -> bool:
    return name.parts[0] != "tests" or any(name.is_relative_to(path) for path in ANSIBLE_TEST_PATHS)
