# SPDX-License-Identifier: GPL-3.0-or-later
"""A role's argument_specs name exactly what its defaults set."""

from __future__ import annotations

from pathlib import Path

import yaml


def roles(root: Path) -> list[Path]:
    """Folders of the collection's roles."""
    return sorted(path for path in (root / "roles").glob("*") if path.is_dir())


def default_names(role: Path) -> set[str]:
    """Variables of defaults/main.yml, or of all files when defaults/main is a folder."""
    names: set[str] = set()
    for path in [*role.glob("defaults/*.y*ml"), *role.glob("defaults/main/*.y*ml")]:
        names |= set(yaml.safe_load(path.read_text()) or {})
    return names


def specified_options(role: Path) -> dict[str, dict]:
    """Options of all entry points in meta/argument_specs.yml."""
    path = role / "meta" / "argument_specs.yml"
    if not path.exists():
        return {}
    options: dict[str, dict] = {}
    for entry_point in yaml.safe_load(path.read_text())["argument_specs"].values():
        options.update(entry_point.get("options") or {})
    return options
