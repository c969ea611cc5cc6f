# SPDX-License-Identifier: GPL-3.0-or-later
"""What OneFlow's requests and answers have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.opennebula.messages import HTML_TYPE, Request, Response, compact_json
from tests.opennebula.oneflow_errors import NotAuthorized, OneFlowError
from tests.opennebula.service_templates import ValidationError
from tests.opennebula.services import Document
from tests.opennebula.vms import OWNER

DONE = Response(204, "", None)


def shown(status: int, document: Document) -> Response:
    """A document; JSON, although the type says otherwise."""
    return Response(status, compact_json(document.document()), HTML_TYPE)


def pool(documents: Iterable[Document]) -> Response:
    """All documents of a kind; the list's key is absent when there is none."""
    members = [document.document()["DOCUMENT"] for document in documents]
    return Response(200, compact_json({"DOCUMENT_POOL": {"DOCUMENT": members} if members else {}}), HTML_TYPE)


def checked_object(text: str) -> dict[str, Any]:
    """A body whose JSON OneFlow checks.

    :raises ValidationError: for anything but an object.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValidationError(str(error)) from error
    if not isinstance(value, dict):
        raise ValidationError("KEY:  must be a Hash; SCHEMA:")
    return value


def action_of(request: Request) -> tuple[str, dict[str, Any] | None]:
    """Name and parameters of an action; whatever is wrong with its form, OneFlow does not catch it."""
    action = json.loads(request.text())["action"]
    return action["perform"], action.get("params")


def leading_integer(value: object) -> int:
    """As Ruby's ``to_i``: the integer a text starts with, 0 for none and for nothing."""
    if isinstance(value, (int, float)):
        return int(value)
    match = re.match(r"\s*([+-]?\d+)", str(value or ""), re.ASCII)
    return int(match.group(1)) if match else 0


def change_document(document: Document, action: str, parameters: Mapping[str, Any]) -> bool:
    """chmod, rename, chown and chgrp of either kind; False for any other action.

    :raises OneFlowError: without the parameter the action needs.
    :raises NotAuthorized: for another owner or group, which the ordinary user cannot give.
    """
    needed = {"chmod": ("octet", "an OCTET"), "rename": ("name", "a name")}
    needed |= {"chown": ("owner_id", "a UID"), "chgrp": ("group_id", "a GID")}
    if action not in needed:
        return False
    name, words = needed[action]
    value = parameters.get(name)
    if not value and value != 0:
        raise OneFlowError(f"Action {action}: You have to specify {words}")
    if action == "chmod":
        document.permissions = str(value)[-3:].zfill(3)
    elif action == "rename":
        document.name = str(value)
    else:
        raise NotAuthorized(
            f"[one.document.chown] User [{OWNER['UID']}] : Not authorized to perform ADMIN DOCUMENT [{document.id}]."
        )
    return True
