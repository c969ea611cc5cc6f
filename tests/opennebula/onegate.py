# SPDX-License-Identifier: GPL-3.0-or-later
"""OneGate: what a VM may read and write. A function from a request to a response.

Answers of 7.4.0; since 7.0.1 every refusal of the core is the constant ``Internal server error``.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import Request, Response, compact_json
from tests.opennebula.oneflow import NoSuchDocument
from tests.opennebula.user_template import CoreRefused, RestrictedAttribute
from tests.opennebula.vms import VirtualMachine

UNSUPPORTED = "OneGate server doesn't support this feature"
INTERNAL_ERROR = "Internal server error"

NIC_ATTRIBUTES = [
    "IP",
    "IP6_LINK",
    "IP6_SITE",
    "IP6_GLOBAL",
    "NETWORK",
    "MAC",
    "NAME",
    "PARENT",
    "EXTERNAL",
    "EXTERNAL_IP",
]

FORM_TYPE = "application/x-www-form-urlencoded"

#: Update kinds: append is the default; any other number but delete does nothing.
APPEND, DELETE = 1, 2


class Halt(Exception):
    """The request ends here with this response."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.response = Response(status, body)


def respond(cloud: Cloud, request: Request) -> Response:
    """Answer one request; called under the lock."""
    try:
        return _route(cloud, request)
    except Halt as halt:
        return halt.response


def _route(cloud: Cloud, request: Request) -> Response:
    method = "GET" if request.method == "HEAD" else request.method
    by_id = re.fullmatch(r"/vms/([^/]+)", request.path)
    if method == "GET" and request.path == "/":
        authenticate(cloud, request)
        base = f"http://{request.headers.get('host', '')}"
        return Response(200, compact_json({"vm_info": f"{base}/vm", "service_info": f"{base}/service"}))
    if request.path == "/vm" and method == "GET":
        authenticate(cloud, request)
        return Response(200, compact_json(vm_shown(source_vm(cloud, request))))
    if request.path == "/vm" and method == "PUT":
        parameters = update_parameters(request)
        authenticate(cloud, request)
        return update(cloud, source_vm(cloud, request), request, parameters)
    if by_id and method == "GET":
        authenticate(cloud, request, by_id.group(1))
        return Response(200, compact_json(vm_shown(requested_vm(cloud, request, by_id.group(1)))))
    if by_id and method == "PUT":
        parameters = update_parameters(request)
        authenticate(cloud, request, by_id.group(1))
        return update(cloud, requested_vm(cloud, request, by_id.group(1)), request, parameters)
    if request.path == "/service" and method == "GET":
        authenticate(cloud, request)
        if "extended" in request.query:
            return not_simulated("GET /service?extended")
        vm = source_vm(cloud, request)
        return Response(200, compact_json(service_of(cloud, vm.id, vm)))
    if method == "POST" and re.fullmatch(r"/vms/[^/]+/action", request.path):
        return not_simulated("POST /vms/ID/action")
    if method == "PUT" and re.fullmatch(r"/service/role/[^/]+", request.path):
        return not_simulated("PUT /service/role/NAME")
    raise Halt(400, UNSUPPORTED)


def not_simulated(what: str) -> Response:
    """For what the real server can do and this one cannot."""
    return Response(501, f"{what} is not simulated")


# --- authentication ---


def authenticate(cloud: Cloud, request: Request, route_id: str | None = None) -> None:
    """401 without a cause unless the token belongs to the VM that the request names.

    The id comes from the header or, as long ago, from the parameter ``id`` (of the path, too). A token is valid for
    ever, also after its VM is DONE. A VM created without TOKEN=YES has none.
    """
    token = request.headers.get("x-onegate-token")
    vm_id = request.headers.get("x-onegate-vmid") or route_id or request.query.get("id")
    if token is None or vm_id is None or not re.fullmatch(r"[0-9]+", vm_id):
        raise Halt(401, "Not authorized")
    vm = cloud.vms.vms.get(int(vm_id))
    if vm is None or vm.token is None or not hmac.compare_digest(vm.token.encode(), token.strip().encode()):
        raise Halt(401, "Not authorized")


def leading_integer(text: str) -> int:
    """The integer a text starts with, else 0: ``abc`` is 0."""
    match = re.match(r"\s*([+-]?\d+)", text, re.ASCII)
    return int(match.group(1)) if match else 0


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
        raise Halt(
            400,
            "This VM does not belong to any Virtual Router or Service, "
            "so it cannot retrieve information from other VMs",
        )
    service_of(cloud, vm_id, caller)
    return existing_vm(cloud, vm_id)


# --- answers ---


def vm_shown(vm: VirtualMachine) -> dict[str, Any]:
    """The VM element: its interfaces always a list, with few attributes, and no context."""
    document = vm.document()
    nics = document["TEMPLATE"].get("NIC") or []
    return {
        "VM": {
            "NAME": document["NAME"],
            "ID": document["ID"],
            "STATE": document["STATE"],
            "LCM_STATE": document["LCM_STATE"],
            "USER_TEMPLATE": document["USER_TEMPLATE"],
            "TEMPLATE": {
                "NIC": [{name: nic[name] for name in nic if name in NIC_ATTRIBUTES} for nic in nics],
                "NIC_ALIAS": [],
            },
        }
    }


def service_of(cloud: Cloud, vm_id: int, caller: VirtualMachine) -> dict[str, Any]:
    """The SERVICE element of the caller's service.

    400 when the caller has no service or ``vm_id`` is not among its nodes; a OneFlow that is down looks like a
    service that does not exist, 404.
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
    shown = service_shown(document)
    members = [node["deploy_id"] for role in shown["SERVICE"]["roles"] for node in role["nodes"]]
    if vm_id not in members:
        raise Halt(400, f"Service {service_id} does not contain VM {vm_id}.")
    return shown


def service_shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """The SERVICE element: no limits, policies, networks, inputs or log, and of each VM only what OneFlow kept."""
    body = document["DOCUMENT"]["TEMPLATE"]["BODY"]
    return {
        "SERVICE": {
            "name": document["DOCUMENT"]["NAME"],
            "id": document["DOCUMENT"]["ID"],
            "state": body["state"],
            "roles": [
                {
                    "name": role["name"],
                    "cardinality": role["cardinality"],
                    "state": role["state"],
                    "nodes": [
                        {"deploy_id": node["deploy_id"], "running": None, "vm_info": node["vm_info"]}
                        for node in role.get("nodes") or []
                    ],
                }
                for role in body["roles"]
            ],
        }
    }


# --- updates ---


def update_parameters(request: Request) -> dict[str, str]:
    """Parameters of query and form body; the body counts only with the form's content type.

    400 for a ``%`` that is no encoding, as in a raw body sent with the form's content type.
    """
    parameters = dict(request.query)
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type != FORM_TYPE:
        return parameters
    for pair in request.body.split(b"&"):
        if pair:
            name, _, value = pair.partition(b"=")
            parameters[form_text(name)] = form_text(value)
    return parameters


def form_text(encoded: bytes) -> str:
    """One name or value of a form."""
    if re.search(rb"%(?![0-9A-Fa-f]{2})", encoded):
        shown = encoded.decode("utf-8", errors="replace")
        raise Halt(400, f"Invalid query parameters: invalid %-encoding ({shown})")
    return unquote_to_bytes(encoded.replace(b"+", b" ")).decode("utf-8", errors="surrogateescape")


def update(cloud: Cloud, vm: VirtualMachine, request: Request, parameters: Mapping[str, str]) -> Response:
    """Merge the update's attributes into the VM's USER_TEMPLATE: all of them or none."""
    kind = leading_integer(parameters["type"]) if "type" in parameters else APPEND
    if kind != APPEND:
        return not_simulated(f"PUT with type={parameters['type']}")
    text = parameters["data"] if "data" in parameters else request.text()
    try:
        cloud.vms.update(vm, text)
    except RestrictedAttribute as error:
        raise Halt(403, f"Attribute ({error}) cannot be modified") from None
    except CoreRefused:
        raise Halt(500, INTERNAL_ERROR) from None
    return Response(200, "")


def parsed(response: Response) -> Any:
    """The JSON of a response."""
    return json.loads(response.body)
