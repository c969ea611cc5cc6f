# SPDX-License-Identifier: GPL-3.0-or-later
"""OneGate's actions on a VM and its change of a role's cardinality."""

from __future__ import annotations

import json
from typing import Any

from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import Request, Response
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.onegate_errors import Halt, crashed, failed
from tests.opennebula.vms import VirtualMachine, VmError

#: What the real server can do beside that, and this one cannot.
NOT_SIMULATED = (
    "attachdisk",
    "attachnic",
    "chmod",
    "chown",
    "deploy",
    "detachdisk",
    "detachnic",
    "livemigrate",
    "migrate",
    "recover",
    "resize",
    "saveas",
    "snapshot_create",
    "snapshot_delete",
    "snapshot_revert",
    "stop",
    "suspend",
    "undeploy",
)


def act(cloud: Cloud, vm: VirtualMachine, request: Request) -> Response:
    """``{"action": {"perform": NAME, "params": VALUE}}``; 204 as soon as the core has accepted it."""
    action = _action(request.text())
    name = action.get("perform")
    if isinstance(name, str) and name.lower() in cloud.onegate.restricted_actions:
        raise Halt(403, f"Action ({name}) is not allowed on this resource")
    if name in NOT_SIMULATED:
        return Response(501, f"action {name} is not simulated")
    try:
        known = _perform(cloud, vm, name, action.get("params"))
    except VmError as error:
        raise failed(cloud.onegate, str(error)) from None
    if not known:
        raise failed(cloud.onegate, f"{name} action not  available for this resource")
    return Response(204, "", None)


def _action(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        raise Halt(400, f"unexpected token at '{text}'") from None
    if not isinstance(body, dict) or not isinstance(body.get("action"), dict):
        raise Halt(400, "Error parsing JSON: Wrong resource type")
    return body["action"]


def _perform(cloud: Cloud, vm: VirtualMachine, name: Any, params: Any) -> bool:
    """False for an unknown action.

    :param params: for terminate and poweroff: by force.
    :raises VmError: when the VM's state does not allow it.
    """
    if name in ("terminate", "shutdown"):
        cloud.vms.terminate(vm, hard=bool(params))
    elif name == "delete":
        cloud.vms.terminate(vm, hard=True)
    elif name == "poweroff":
        cloud.vms.poweroff(vm, hard=bool(params))
    elif name == "resume":
        cloud.vms.resume(vm)
    elif name == "hold":
        cloud.vms.hold(vm)
    elif name == "release":
        cloud.vms.release(vm)
    elif name == "rename":
        cloud.vms.rename(vm, str(params.get("name", "") if isinstance(params, dict) else ""))
    else:
        # a reboot and the flag for the scheduler change nothing that is simulated
        return name in ("reboot", "resched", "unresched")
    return True


def change_cardinality(cloud: Cloud, service_id: int, role_name: str, request: Request) -> Response:
    """``{"cardinality": N}``; whatever OneFlow has against it, the answer is the same 400."""
    text = request.text()
    try:
        body = json.loads(text)
    except ValueError:
        raise crashed(cloud.onegate, f"unexpected token at '{text}'") from None
    if not isinstance(body, dict):
        raise crashed(cloud.onegate, "no implicit conversion of String into Integer")
    cardinality = body.get("cardinality")
    refusal = Halt(400, f"Error performing action on service {service_id} role {role_name}")
    if not isinstance(cardinality, int) or isinstance(cardinality, bool):
        raise refusal
    try:
        cloud.oneflow.scale(service_id, role_name, cardinality)
    except OneFlowError:
        raise refusal from None
    return Response(200, "")
