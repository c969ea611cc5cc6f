# SPDX-License-Identifier: GPL-3.0-or-later
"""OneGate: what a VM may read, write and do. A function from a request to a response.

Answers of 7.4.0, on request with the errors of 6.10.5 (:mod:`tests.opennebula.onegate_settings`).
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from tests.opennebula import onegate_actions, onegate_answers, onegate_errors, onegate_updates
from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import Request, Response, compact_json
from tests.opennebula.oneflow_errors import NoSuchDocument
from tests.opennebula.onegate_errors import Halt
from tests.opennebula.onegate_updates import leading_integer
from tests.opennebula.vm_documents import complete
from tests.opennebula.vms import VirtualMachine

#: What needs no permission but a token.
EVERYBODY = "everybody"

#: Method, path, permission. The permission is looked at first, before the token.
ROUTES = [
    ("GET", re.compile(r"/"), EVERYBODY),
    ("GET", re.compile(r"/vm"), "vm.show"),
    ("PUT", re.compile(r"/vm"), "vm.update"),
    ("GET", re.compile(r"/vms/([^/]+)"), "vm.show_by_id"),
    ("PUT", re.compile(r"/vms/([^/]+)"), "vm.update_by_id"),
    ("POST", re.compile(r"/vms/([^/]+)/action"), "vm.action_by_id"),
    ("GET", re.compile(r"/service"), "service.show"),
    ("PUT", re.compile(r"/service/role/([^/]+)"), "service.change_cardinality"),
    ("GET", re.compile(r"/vrouter"), "vrouter.show"),
    ("GET", re.compile(r"/vnet/([^/]+)"), "vnet.show_by_id"),
]


def respond(cloud: Cloud, request: Request) -> Response:
    """Answer one request; called under the lock, which an erase lets go of for a moment."""
    try:
        return _route(cloud, request)
    except Halt as halt:
        return halt.response


def _route(cloud: Cloud, request: Request) -> Response:
    permission, wanted = _permission(request)
    parameters = onegate_updates.update_parameters(request)
    if permission in cloud.onegate.denied:
        resource, _, action = permission.partition(".")
        raise Halt(403, f"Action ({action}) on resource ({resource}) not supported")
    authenticate(cloud, request, wanted if permission.startswith("vm.") else None)
    if permission == EVERYBODY:
        base = f"http://{request.headers.get('host', '')}"
        return _answer({"vm_info": f"{base}/vm", "service_info": f"{base}/service"})
    if permission.startswith("vm."):
        return _vm(cloud, permission, wanted, request, parameters)
    if permission == "service.show":
        vm = source_vm(cloud, request)
        return _answer(service_of(cloud, vm.id, vm, onegate_answers.is_extended(parameters)))
    if permission == "service.change_cardinality":
        vm = source_vm(cloud, request)
        service = service_of(cloud, vm.id, vm)["SERVICE"]
        return onegate_actions.change_cardinality(cloud, int(service["id"]), str(wanted), request)
    return _router(permission, wanted)


def _permission(request: Request) -> tuple[str, str | None]:
    """The permission that the request needs, and what its path names."""
    method = "GET" if request.method == "HEAD" else request.method
    for known_method, pattern, permission in ROUTES:
        match = pattern.fullmatch(request.path)
        if match and method == known_method:
            return permission, match.group(1) if match.groups() else None
    raise Halt(400, onegate_errors.UNSUPPORTED)


def _vm(cloud: Cloud, permission: str, wanted: str | None, request: Request, parameters: Mapping[str, str]) -> Response:
    vm = source_vm(cloud, request) if wanted is None else requested_vm(cloud, request, wanted)
    if permission == "vm.action_by_id":
        return onegate_actions.act(cloud, vm, request)
    if permission.startswith("vm.update"):
        return onegate_updates.update(cloud, vm, request, parameters)
    return _answer(onegate_answers.vm_shown(vm))


def _router(permission: str, wanted: str | None) -> Response:
    """No VM is a virtual router here."""
    if permission == "vrouter.show":
        raise Halt(400, "Empty or invalid VROUTER_ID")
    if not re.fullmatch(r"[+-]?\d+", str(wanted), re.ASCII):
        raise Halt(400, f"Invalid id format (ID: {wanted}). ID must be an integer.")
    raise Halt(400, "Virtual networks information can only be retrieved from Virtual Routers.")


def _answer(value: Any) -> Response:
    return Response(200, compact_json(value))


# --- authentication ---


def authenticate(cloud: Cloud, request: Request, route_id: str | None = None) -> None:
    """401 without a cause unless the token belongs to the VM that the request names.

    The id comes from the header or, as long ago, from the parameter ``id`` (of the path, too). A token is valid for
    ever, also after its VM is DONE. A VM created without TOKEN=YES has none.
    """
    token = request.headers.get("x-onegate-token")
    vm_id = request.headers.get("x-onegate-vmid") or route_id or request.query.get("id")
    if token is None or vm_id is None or not re.fullmatch(r"[0-9]+", vm_id):
        raise onegate_errors.not_authorized()
    vm = cloud.vms.vms.get(int(vm_id))
    if vm is None or vm.token is None or not hmac.compare_digest(vm.token.encode(), token.strip().encode()):
        raise onegate_errors.not_authorized()


def source_vm(cloud: Cloud, request: Request) -> VirtualMachine:
    """The VM of the header."""
    return existing_vm(cloud, leading_integer(request.headers.get("x-onegate-vmid", "")))


def existing_vm(cloud: Cloud, vm_id: int) -> VirtualMachine:
    """404 with the core's text for an unknown id."""
    vm = cloud.vms.vms.get(vm_id)
    if vm is None:
        raise Halt(404, f"[one.vm.info] Error getting virtual machine [{vm_id}].")
    return vm


def requested_vm(cloud: Cloud, request: Request, wanted: str) -> VirtualMachine:
    """The VM of the path: the caller itself, or one of its service."""
    vm_id = leading_integer(wanted)
    caller = source_vm(cloud, request)
    if caller.id == vm_id:
        return caller
    if caller.attribute("SERVICE_ID") is None:
        raise Halt(400, onegate_errors.NO_GROUP)
    service_of(cloud, vm_id, caller)
    return existing_vm(cloud, vm_id)


def service_of(cloud: Cloud, vm_id: int, caller: VirtualMachine, extended: bool = False) -> dict[str, Any]:
    """The SERVICE element of the caller's service.

    400 when the caller has no service or ``vm_id`` is not among its nodes; a OneFlow that is down looks like a
    service that does not exist, 404.

    :param extended: with each node's VM in full; 404 when one of them cannot be read.
    """
    service_id = caller.attribute("SERVICE_ID")
    if not isinstance(service_id, str) or not re.fullmatch(r"\d+", service_id, re.ASCII):
        raise Halt(400, "Empty or invalid SERVICE_ID")
    try:
        if not cloud.oneflow.available:
            raise NoSuchDocument(service_id)
        document = cloud.oneflow.service(int(service_id)).document()
    except NoSuchDocument:
        raise Halt(404, f"Service {service_id} not found") from None

    def in_full(node: Mapping[str, Any]) -> dict[str, Any]:
        return {"VM": complete(existing_vm(cloud, node["deploy_id"]))}

    shown = onegate_answers.service_shown(document, in_full if extended else onegate_answers.kept_info)
    members = [node["deploy_id"] for role in shown["SERVICE"]["roles"] for node in role["nodes"]]
    if vm_id not in members:
        raise onegate_errors.not_in_service(service_id, vm_id)
    return shown


def parsed(response: Response) -> Any:
    """The JSON of a response."""
    return json.loads(response.body)
