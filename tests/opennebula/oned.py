# SPDX-License-Identifier: GPL-3.0-or-later
"""The core's XML-RPC interface, as far as VMs, templates, images and networks are looked up, and a VM is recreated. A
function from a request to a response.

The session is ``user:password`` of the owner of everything, or of the administrator, whose password here is the same.
More arguments than a call has are ignored, as by the core.
"""

from __future__ import annotations

import hmac
import xmlrpc.client
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from xml.parsers.expat import ExpatError

from tests.opennebula import oned_documents
from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import Request, Response
from tests.opennebula.states import VmState
from tests.opennebula.vms import OWNER, VmError
from tests.opennebula.xml_documents import written

XML_TYPE = "text/xml; charset=utf-8"
PATH = "/RPC2"
VERSION = "7.4.0"

AUTHENTICATION, AUTHORIZATION, NO_EXISTS, ACTION, API = 0x0100, 0x0200, 0x0400, 0x0800, 0x1000

#: XML-RPC faults of the core's library.
TYPE_FAULT, PARSE_FAULT, NO_METHOD_FAULT = -501, -503, -506

#: Of a pool: everything, own and group's, own, group's.
FILTERS = (-2, -1, -3, -4)
ANY_STATE, ANY_STATE_BUT_DONE = -2, -1

ADMINISTRATOR = "oneadmin"

#: Operations of one.vm.recover: failure, success, retry, delete, delete-recreate, delete from the database.
RECOVERIES = range(6)
DELETE_RECREATE = 4


class Refused(Exception):
    """The call fails with this error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Kind:
    """One kind of object.

    :param element: its XML element; the pool's has ``_POOL`` behind it.
    :param shown: as the core names it in errors.
    :param documents: all of them by id.
    """

    element: str
    shown: str
    documents: Callable[[Cloud], dict[int, dict[str, Any]]]


def _vms(cloud: Cloud) -> dict[int, dict[str, Any]]:
    return {vm_id: oned_documents.vm(vm) for vm_id, vm in cloud.vms.vms.items()}


def _templates(cloud: Cloud) -> dict[int, dict[str, Any]]:
    return {number: oned_documents.vm_template(number, template) for number, template in cloud.vm_templates.items()}


def _images(cloud: Cloud) -> dict[int, dict[str, Any]]:
    return {number: oned_documents.image(image) for number, image in cloud.images.items()}


def _networks(cloud: Cloud) -> dict[int, dict[str, Any]]:
    broken = cloud.conditions.networks_in_error
    return {network.id: oned_documents.network(network, network.id in broken) for network in cloud.networks}


KINDS = {
    "vm": Kind("VM", "virtual machine", _vms),
    "template": Kind("VMTEMPLATE", "virtual machine template", _templates),
    "image": Kind("IMAGE", "image", _images),
    "vn": Kind("VNET", "virtual network", _networks),
}


def respond(cloud: Cloud, password: str, request: Request) -> Response:
    """Answer one call; called under the lock."""
    if request.path != PATH:
        return Response(404, "", "text/html")
    if request.method != "POST":
        return Response(405, "", "text/html")
    try:
        arguments, method = xmlrpc.client.loads(request.body, use_builtin_types=True)
    except (ExpatError, ValueError, TypeError, xmlrpc.client.Error):
        return _answer(xmlrpc.client.Fault(PARSE_FAULT, "Call XML not a proper XML-RPC call."))
    try:
        return _answer(([True, _call(cloud, password, str(method), list(arguments)), 0],))
    except Refused as error:
        return _answer(([False, str(error), error.code],))
    except xmlrpc.client.Fault as fault:
        return _answer(fault)


def _answer(value: Any) -> Response:
    return Response(200, xmlrpc.client.dumps(value, methodresponse=True, encoding="utf-8"), XML_TYPE)


def _call(cloud: Cloud, password: str, method: str, arguments: list[Any]) -> str | int:
    prefix, _, rest = method.partition(".")
    target = rest.partition(".")[0]
    looks = {f"{kind}{pool}.info" for kind in KINDS for pool in ("", "pool")}
    known = {"system.version", "user.info", "vm.recover", *looks}
    if prefix != "one" or rest not in known:
        raise xmlrpc.client.Fault(NO_METHOD_FAULT, f"Method '{method}' not defined")
    session = _typed(arguments, 0, str)
    user, _, given = session.partition(":")
    if user not in (OWNER["UNAME"], ADMINISTRATOR) or not hmac.compare_digest(given.encode(), password.encode()):
        raise Refused(AUTHENTICATION, f"[{method}] User couldn't be authenticated, aborting call.")
    if rest == "system.version":
        return VERSION
    if rest == "user.info":
        return _user(cloud, method, _typed(arguments, 1, int))
    if rest == "vm.recover":
        return _recover(cloud, method, user, _typed(arguments, 1, int), _typed(arguments, 2, int))
    if target in KINDS:
        return _one(cloud, method, KINDS[target], _typed(arguments, 1, int))
    return _pool(cloud, method, target.removesuffix("pool"), arguments)


def _typed(arguments: list[Any], index: int, kind: type) -> Any:
    if index >= len(arguments) or type(arguments[index]) is not kind:
        raise xmlrpc.client.Fault(TYPE_FAULT, f"parameter {index} is missing or no {kind.__name__}")
    return arguments[index]


def _user(cloud: Cloud, method: str, user_id: int) -> str:
    if user_id not in (-1, int(OWNER["UID"])):
        raise Refused(NO_EXISTS, f"[{method}] Error getting user [{user_id}].")
    return written("USER", oned_documents.user(cloud.settings.user_attributes))


def _recover(cloud: Cloud, method: str, user: str, vm_id: int, operation: int) -> int:
    """All operations need the right to administer, which an owner does not have by default."""
    if operation not in RECOVERIES:
        raise Refused(ACTION, f"[{method}] Wrong recovery operation code")
    if vm_id not in cloud.vms.vms:
        raise Refused(NO_EXISTS, f"[{method}] Error getting virtual machine [{vm_id}].")
    if user != ADMINISTRATOR:
        right = f"Not authorized to perform ADMIN VM [{vm_id}]"
        raise Refused(AUTHORIZATION, f"[{method}] User [{OWNER['UID']}] : {right}.")
    if operation != DELETE_RECREATE:
        raise xmlrpc.client.Fault(NO_METHOD_FAULT, f"operation {operation} of '{method}' is not simulated")
    try:
        cloud.vms.delete_recreate(cloud.vms.get(vm_id))
    except VmError as error:
        raise Refused(ACTION, str(error)) from None
    return vm_id


def _one(cloud: Cloud, method: str, kind: Kind, object_id: int) -> str:
    documents = kind.documents(cloud)
    if object_id not in documents:
        raise Refused(NO_EXISTS, f"[{method}] Error getting {kind.shown} [{object_id}].")
    return written(kind.element, documents[object_id])


def _pool(cloud: Cloud, method: str, name: str, arguments: list[Any]) -> str:
    owner = _typed(arguments, 1, int)
    first, last = _typed(arguments, 2, int), _typed(arguments, 3, int)
    kind = KINDS[name]
    documents: Iterable[dict[str, Any]] = kind.documents(cloud).values()
    if owner < min(FILTERS):
        raise Refused(API, f"[{method}] Incorrect filter_flag")
    if owner >= 0:
        documents = [document for document in documents if document["UID"] == str(owner)]
    if name == "vm":
        state = _typed(arguments, 4, int)
        documents = [document for document in documents if _has_state(int(document["STATE"]), state)]
    return written(f"{kind.element}_POOL", {kind.element: _part(list(documents), first, last)})


def _has_state(state: int, wanted: int) -> bool:
    if wanted == ANY_STATE_BUT_DONE:
        return state != VmState.DONE
    return wanted == ANY_STATE or state == wanted


def _part(documents: list[dict[str, Any]], first: int, last: int) -> list[dict[str, Any]]:
    """Ids from ``first`` to ``last``, -1 for no limit; a ``last`` below -1 is the length of a page, negative."""
    if last < -1:
        start = max(0, first)
        return documents[start : start - last]
    return [
        document
        for document in documents
        if int(document["ID"]) >= first and (last == -1 or int(document["ID"]) <= last)
    ]
