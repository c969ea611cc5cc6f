# SPDX-License-Identifier: GPL-3.0-or-later
"""What plugin code may use: it runs on the hosts' own, possibly older interpreters."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

OLDEST_PYTHON = (3, 8)
OWN = "ansible_collections.onehpc.ondemand.plugins."
# Joins the pure code to Ansible, so it alone may import it.
MODULE_RUNNER = "module_runner.py"


def syntax_error(source: str) -> str | None:
    """The complaint of the oldest supported Python's grammar, None when it has none."""
    try:
        ast.parse(source, feature_version=OLDEST_PYTHON)
    except SyntaxError as error:
        return str(error)
    return None


def foreign_imports(source: str) -> list[str]:
    """Imported modules that are neither of the standard library nor of this collection."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append("." * node.level + (node.module or ""))
    return [name for name in names if name.partition(".")[0] not in sys.stdlib_module_names and not _is_own(name)]


def _is_own(name: str) -> bool:
    return f"{name}.".startswith(OWN)


def plugin_files(root: Path, *kinds: str) -> list[Path]:
    """Python files of the plugin kinds, e.g. "module_utils"; of all kinds without names."""
    folders = [root / "plugins" / kind for kind in kinds] or [root / "plugins"]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))
