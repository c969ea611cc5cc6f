# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decoded OneGate answers turned into the typed model.

An answer that is not complete is an error here, never an empty list: the pool must not act on half a picture.
"""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import (
    Service,
    ServiceNode,
    ServiceRole,
    Vm,
)


class _Incomplete(Exception):
    """What is missing, as a clause."""


def parse_service(answer, endpoint=""):
    """The body of GET /service (decoded JSON) as a Service; OneGateError when anything is missing or contradicts."""
    try:
        body = _mapping(_mapping(answer, "the answer").get("SERVICE"), "SERVICE")
        roles = tuple(_parse_role(role) for role in _sequence(body.get("roles"), "SERVICE.roles"))
        _refuse_repeats([role.name for role in roles], "role")
        _refuse_repeats([vm_id for role in roles for vm_id in role.vm_ids], "VM")
        return Service(
            id=_number(body.get("id"), "SERVICE.id"),
            name=_text(body.get("name"), "SERVICE.name"),
            state=_number(body.get("state"), "SERVICE.state"),
            roles=roles,
        )
    except _Incomplete as what:
        raise _incomplete_error("/service", endpoint, what) from None


def parse_vm(answer, endpoint="", path="/vm"):
    """The body of GET /vm or /vms/ID (decoded JSON) as a Vm; OneGateError when anything is missing."""
    try:
        body = _mapping(_mapping(answer, "the answer").get("VM"), "VM")
        template = _mapping(body.get("TEMPLATE"), "VM.TEMPLATE")
        nics = template.get("NIC")
        if isinstance(nics, dict):  # the extended read shows a single NIC as an object
            nics = [nics]
        nics = [_mapping(nic, "VM.TEMPLATE.NIC") for nic in _sequence(nics, "VM.TEMPLATE.NIC")]
        name = body.get("NAME")
        return Vm(
            id=_number(body.get("ID"), "VM.ID"),
            name=name if isinstance(name, str) else None,
            state=_number(body.get("STATE"), "VM.STATE"),
            lcm_state=_number(body.get("LCM_STATE"), "VM.LCM_STATE"),
            user_template=dict(_mapping(body.get("USER_TEMPLATE"), "VM.USER_TEMPLATE")),
            addresses=tuple(nic["IP"] for nic in nics if isinstance(nic.get("IP"), str) and nic["IP"]),
        )
    except _Incomplete as what:
        raise _incomplete_error(path, endpoint, what) from None


def _parse_role(role):
    role = _mapping(role, "an entry of SERVICE.roles")
    name = _text(role.get("name"), "the name of a role")
    return ServiceRole(
        name=name,
        cardinality=_number(role.get("cardinality"), f"the cardinality of role {name}"),
        state=_number(role.get("state"), f"the state of role {name}"),
        nodes=tuple(_parse_node(node, name) for node in _sequence(role.get("nodes"), f"the nodes of role {name}")),
    )


def _parse_node(node, role_name):
    where = f"a node of role {role_name}"
    vm_id = _number(_mapping(node, where).get("deploy_id"), "the deploy_id of " + where)
    if node.get("vm_info") is None:
        return ServiceNode(vm_id=vm_id, name=None)
    vm = _mapping(_mapping(node["vm_info"], f"vm_info of VM {vm_id}").get("VM"), f"vm_info.VM of VM {vm_id}")
    if "ID" in vm and _number(vm["ID"], f"vm_info.VM.ID of VM {vm_id}") != vm_id:
        raise _Incomplete(f"deploy_id {vm_id} and vm_info.VM.ID {vm['ID']} name different VMs")
    return ServiceNode(vm_id=vm_id, name=vm["NAME"] if isinstance(vm.get("NAME"), str) else None)


def _mapping(value: object, what: str) -> dict:
    if not isinstance(value, dict):
        raise _Incomplete(f"{what} is not an object")
    return value


def _sequence(value: object, what: str) -> list:
    if not isinstance(value, list):
        raise _Incomplete(f"{what} is not a list")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise _Incomplete(f"{what} is missing")
    return value


def _number(value: int | str | None, what: str) -> int:
    """OneGate writes a VM's numbers as text and a service's mostly as numbers."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    raise _Incomplete(f"{what} is not a number")


def _refuse_repeats(items, what):
    repeated = sorted({item for item in items if items.count(item) > 1})
    if repeated:
        raise _Incomplete(f"{what} {repeated[0]} is listed more than once")


def _incomplete_error(path, endpoint, what):
    server = f"OneGate at {endpoint}" if endpoint else "OneGate"
    return OneGateError(
        "GET",
        path,
        endpoint,
        200,
        f"{server} answered GET {path} with 200, but the answer is not complete: {what}. Nothing was decided from it.",
    )
