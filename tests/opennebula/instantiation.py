# SPDX-License-Identifier: GPL-3.0-or-later
"""The template a role's VMs are made from."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tests.opennebula.parent_values import evaluate
from tests.opennebula.service_templates import deep_merge


def role_vm_template(
    vm_template: Mapping[str, Any],
    role: Mapping[str, Any],
    service_id: int,
    parents: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, Any]:
    """The VM template with the role's ``template_contents`` merged in, so that CONTEXT keeps the template's entries.

    :param parents: documents of the VMs of each direct parent.
    """
    template = copy.deepcopy(dict(vm_template))
    contents = role.get("template_contents") or {}
    if contents:
        if isinstance(template.get("NIC"), Mapping):
            template["NIC"] = [template["NIC"]]
        template = deep_merge(template, contents)
    template["SERVICE_ID"] = str(service_id)
    template["ROLE_NAME"] = role["name"]
    return evaluate(template, parents)


def vm_name(role_name: str, number: int, service_id: int) -> str:
    """OneFlow's default name of a VM; ``number`` counts per role and never goes back."""
    return f"{role_name}_{number}_(service_{service_id})"
