# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether the code and the configuration that a process has loaded are still those on disk."""

from __future__ import annotations

import os
import sys
from typing import Iterable


class LoadedCode:
    """The files of every module that is loaded now, the interpreter, and more files that were read."""

    def __init__(self, more_files: Iterable[str] = ()):
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        self._stamps = {path: _stamp(path) for path in [sys.executable, *modules, *more_files] if path}

    def changed_file(self) -> str | None:
        """A file that is not what was loaded, None when there is none."""
        return next((path for path, stamp in self._stamps.items() if _stamp(path) != stamp), None)


def _stamp(path: str) -> tuple | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
