# SPDX-License-Identifier: GPL-3.0-or-later
"""REST requests about service templates. OneFlow ignores what goes wrong in most of their actions."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import HTML_TYPE, Request, Response
from tests.opennebula.oneflow_answers import (
    DONE,
    action_of,
    change_document,
    checked_object,
    leading_integer,
    pool,
    shown,
)
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.service_templates import ValidationError


def respond(cloud: Cloud, request: Request) -> Response | None:
    """None for a path that is not about templates."""
    oneflow = cloud.oneflow
    if (request.method, request.path) == ("GET", "/service_template"):
        return pool(oneflow.templates.values())
    if (request.method, request.path) == ("POST", "/service_template"):
        return shown(201, oneflow.template(oneflow.create_template(checked_object(request.text()))))
    found = re.fullmatch(r"/service_template/([^/]+)(/action)?", request.path)
    if not found:
        return None
    template_id = leading_integer(found.group(1))
    match request.method, found.group(2):
        case "GET", None:
            return shown(200, oneflow.template(template_id))
        case "PUT", None:
            oneflow.update_template(template_id, checked_object(request.text()))
            return shown(200, oneflow.template(template_id))
        case "DELETE", None:
            oneflow.delete_template(template_id, _delete_type(request) in ("templates", "all"))
            return DONE
        case "POST", "/action":
            return _act(cloud, template_id, *action_of(request))
    return None


def _delete_type(request: Request) -> str:
    try:
        return str(json.loads(request.text())["delete_type"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return "none"


def _act(cloud: Cloud, template_id: int, action: str, parameters: dict[str, Any] | None) -> Response:
    wanted = parameters or {}
    oneflow = cloud.oneflow
    if action == "instantiate":
        return _instantiate(cloud, template_id, wanted)
    if action == "clone":
        with_vm_templates = wanted.get("recursive") != "none"
        return shown(201, oneflow.template(oneflow.clone_template(template_id, str(wanted["name"]), with_vm_templates)))
    try:
        if action == "update" and "template_json" in wanted:
            append = wanted.get("append") is True
            oneflow.update_template(template_id, checked_object(wanted["template_json"]), append)
            return DONE
        if change_document(oneflow.template(template_id), action, wanted):
            return DONE
    except OneFlowError:
        return DONE
    # an action that does not exist, or an update without a template, is answered like this
    return Response(200, "", HTML_TYPE)


def _instantiate(cloud: Cloud, template_id: int, wanted: dict[str, Any]) -> Response:
    try:
        return shown(201, cloud.oneflow.instantiate(template_id, wanted.get("merge_template") or {}))
    except ValidationError as error:
        return Response(500, str(error), HTML_TYPE)
