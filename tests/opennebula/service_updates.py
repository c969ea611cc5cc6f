# SPDX-License-Identifier: GPL-3.0-or-later
"""Which changes of a service or of a template are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Of a running service: what only made sense before it, or is OneFlow's own.
SERVICE_ATTRIBUTES = (
    "deployment",
    "log",
    "name",
    "networks",
    "networks_values",
    "ready_status_gate",
    "state",
    "start_time",
    "user_inputs",
    "user_inputs_values",
)
ROLE_ATTRIBUTES = ("cardinality", "last_vmname", "nodes", "parents", "state", "template_id")


def service_refusal(body: Mapping[str, Any], wanted: Mapping[str, Any], append: bool) -> str | None:
    """Why a service may not be changed so, None when it may.

    :param append: ``wanted`` holds only what is to change; its roles are then not looked at.
    """
    if append:
        named = next((name for name in SERVICE_ATTRIBUTES if wanted.get(name) is not None), None)
        return _immutable(f"service/{named}") if named else None
    if len(wanted["roles"]) != len(body["roles"]):
        return _immutable("service/roles size")
    changed = next((name for name in SERVICE_ATTRIBUTES if wanted.get(name) != body.get(name)), None)
    if changed:
        return _immutable(f"service/{changed}")
    roles = {role["name"]: role for role in body["roles"]}
    for role in wanted["roles"]:
        if role["name"] not in roles:
            return "To change `service/name` use rename operation"
        old = roles[role["name"]]
        changed = next((name for name in ROLE_ATTRIBUTES if role.get(name) != old.get(name)), None)
        if changed:
            return _immutable(f"role/{changed}")
    return None


def template_refusal(body: Mapping[str, Any], wanted: Mapping[str, Any], append: bool) -> str | None:
    """Why a template may not be changed so: only its ``registration_time`` is OneFlow's own."""
    given = wanted.get("registration_time")
    if given is not None and (append or given != body["registration_time"]):
        return _immutable("service_template/registration_time")
    return None


def _immutable(what: str) -> str:
    return f"Immutable value: `{what}` can not be changed"
