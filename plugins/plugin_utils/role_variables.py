# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of this collection's roles, and what may be wrong with those that a site sets."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

ROLES_PATH = Path(__file__).resolve().parents[2] / "roles"
LONGEST_VALUE = 60
EXPECTED = {
    "bool": "true or false",
    "dict": "a dictionary",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "path": "a path",
    "str": "text",
}


def role_options(roles_path=ROLES_PATH):
    """Every option of every role (dict of variable to its entry in argument_specs.yml)."""
    options = {}
    for path in sorted(roles_path.glob("*/meta/argument_specs.yml")):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            options.update(entry.get("options", {}))
    return options


def unknown_names(names, roles_path=ROLES_PATH):
    """Those of `names` that begin like a role's variables and are none: (name, the most similar one or "") each."""
    roles = [path.name for path in roles_path.iterdir()]
    options = role_options(roles_path)
    fixed = {
        name
        for pattern in ("*/vars/*.yml", "*/vars/main/*.yml")
        for path in roles_path.glob(pattern)
        for name in yaml.safe_load(path.read_text()) or {}
    }
    unknown = (name for name in sorted(names) if name.startswith(tuple(f"{role}_" for role in roles)))
    return [
        (name, "".join(get_close_matches(name, options, 1)))
        for name in unknown
        if name not in options and name not in fixed
    ]


def wrong_types(values, options):
    """A sentence for each of the variables (dict of name to value) whose value is not of its option's type."""
    sentences = []
    for name, value in values.items():
        option = {key: options[name][key] for key in ("type", "elements", "choices") if key in options[name]}
        if ArgumentSpecValidator({name: option}).validate({name: value}).error_messages:
            shown = repr(value)
            if len(shown) > LONGEST_VALUE:
                shown = f"{shown[:LONGEST_VALUE]}..."
            sentences.append(f"{name} is {shown}, expected {_expected(option)}")
    return sentences


def _expected(option):
    if "choices" in option:
        return f"one of {', '.join(map(str, option['choices']))}"
    what = EXPECTED[option.get("type", "str")]
    return f"{what} of {option['elements']}" if "elements" in option else what
