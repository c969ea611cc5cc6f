# SPDX-License-Identifier: GPL-3.0-or-later
"""Service templates in the 6.x form, and what OneFlow 7 makes of them when one is created."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any


def is_old(template: Mapping[str, Any]) -> bool:
    """Only when every role has an old key; one role in the new form and nothing is converted."""
    roles = template.get("roles")
    return isinstance(roles, list) and all(
        isinstance(role, Mapping) and ("vm_template" in role or "vm_template_contents" in role) for role in roles
    )


def converted(template: Mapping[str, Any]) -> dict[str, Any]:
    """The template in the 7.x form; values that a role had of its own are lost, as in OneFlow."""
    body = copy.deepcopy(dict(template))
    for role in body["roles"]:
        role["template_id"] = role.pop("vm_template", None)
        role["type"] = "vm"
        role.pop("custom_attrs_values", None)
        if role.get("custom_attrs"):
            role["user_inputs"] = role.pop("custom_attrs")
        if role.get("vm_template_contents"):
            role["template_contents"] = contents(role.pop("vm_template_contents"))
    for old, new in (("custom_attrs", "user_inputs"), ("custom_attrs_values", "user_inputs_values")):
        if body.get(old):
            body[new] = body.pop(old)
    return body


def contents(text: str) -> dict[str, Any]:
    """``KEY=value`` lines as an object: every quote goes, a vector becomes a list with one object, a comma inside a
    vector's value cuts it, and a name that comes twice becomes a list.
    """
    found: dict[str, Any] = {}
    for line in re.split(r"\n(?![^\[]*\])", text):
        if "=" not in line:
            continue
        name, value = (part.strip() for part in line.split("=", 1))
        value = value.replace('"', "")
        item: Any = _vector(value[1:-1]) if value.startswith("[") and value.endswith("]") else value
        if name not in found:
            found[name] = item
        elif isinstance(found[name], list):
            found[name].append(item)
        else:
            found[name] = [found[name], item]
    return {name: [value] if isinstance(value, dict) else value for name, value in found.items()}


def _vector(text: str) -> dict[str, str | None]:
    members: dict[str, str | None] = {}
    for member in re.split(r"\s*,\s*", text):
        name, separator, value = member.partition("=")
        members[name.strip()] = value.strip() if separator else None
    return members
