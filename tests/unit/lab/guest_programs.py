# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads the lab's guest programs, which have no .py in their names, as modules."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from types import ModuleType

from tests.lab.image.guest_files import GUEST_DIR


def load_guest_program(path: str) -> ModuleType:
    """path: below the guest's root, e.g. usr/sbin/one-contextd."""
    loader = SourceFileLoader(path.rpartition("/")[2].replace("-", "_"), str(GUEST_DIR / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
