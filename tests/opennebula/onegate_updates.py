# SPDX-License-Identifier: GPL-3.0-or-later
"""OneGate's updates of a VM: setting attributes and erasing one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from tests.opennebula import erasing, escaping, user_template
from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import Request, Response
from tests.opennebula.onegate_errors import Halt, crashed, failed
from tests.opennebula.vms import VirtualMachine

FORM_TYPE = "application/x-www-form-urlencoded"

#: Kinds of update: setting is the default; any other number selects as an erase does, but keeps everything.
SET, ERASE = 1, 2


def leading_integer(text: str) -> int:
    """The integer a text starts with, else 0: ``abc`` is 0."""
    match = re.match(r"\s*([+-]?\d+)", text, re.ASCII)
    return int(match.group(1)) if match else 0


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
    """Set attributes of the VM's USER_TEMPLATE, all of them or none, or erase one."""
    kind = leading_integer(parameters["type"]) if "type" in parameters else SET
    text = escaping.escape_attributes(parameters["data"] if "data" in parameters else request.text())
    restricted = user_template.first_restricted_name(text, cloud.onegate.restricted_attributes)
    if restricted is not None:
        raise Halt(403, f"Attribute ({restricted}) cannot be {'modified' if kind == SET else 'deleted'}")
    if kind == SET:
        _set(cloud, vm, text)
    else:
        _erase(cloud, vm, text, kind)
    return Response(200, "")


def _set(cloud: Cloud, vm: VirtualMachine, text: str) -> None:
    try:
        cloud.vms.update(vm, user_template.through_xmlrpc(text))
    except user_template.CoreRefused as error:
        raise failed(cloud.onegate, str(error)) from None


def _erase(cloud: Cloud, vm: VirtualMachine, path: str, kind: int) -> None:
    """Read all attributes, then write back what is left: what others write in between is lost."""
    try:
        left = erasing.without(vm.user_template, path)
    except erasing.ErasePathError as error:
        raise crashed(cloud.onegate, str(error)) from None
    if kind != ERASE:
        return
    if left is None:
        nothing_erased(cloud)
        return
    cloud.clock.wait_until(lambda: False, cloud.onegate.erase_gap_seconds)
    cloud.vms.replace_attributes(vm, left)


def nothing_erased(cloud: Cloud) -> None:
    """An attribute that is not there cannot be erased."""
    raise failed(cloud.onegate, "attribute not found")
