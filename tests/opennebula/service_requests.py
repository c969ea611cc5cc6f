# SPDX-License-Identifier: GPL-3.0-or-later
"""REST requests about services."""

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
from tests.opennebula.role_actions import ACTION_NUMBER, ACTION_PERIOD_SECONDS, KNOWN
from tests.opennebula.service_templates import ValidationError, validate, validate_role


def respond(cloud: Cloud, request: Request) -> Response | None:
    """None for a path that is not about services."""
    oneflow = cloud.oneflow
    if (request.method, request.path) == ("GET", "/service"):
        return pool(oneflow.services.values())
    if (request.method, request.path) == ("POST", "/service_pool/purge_done"):
        # services that are DONE do not stay
        return DONE
    found = re.fullmatch(r"/service/([^/]+)(/.*)?", request.path)
    if not found:
        return None
    service_id, rest = leading_integer(found.group(1)), found.group(2) or ""
    role = re.fullmatch(r"/role/([^/]+)/action", rest)
    if role and request.method == "POST":
        name, parameters = action_of(request)
        return _act_on_roles(cloud, service_id, [role.group(1)], name, parameters)
    match request.method, rest:
        case "GET", "":
            return shown(200, oneflow.service(service_id))
        case "DELETE", "":
            oneflow.delete(service_id)
            return DONE
        case "PUT", "":
            return _update(cloud, service_id, request)
        case "POST", "/action":
            return _act(cloud, service_id, *action_of(request))
        case "POST", "/scale":
            return _scale(cloud, service_id, request)
        case "POST", "/role_action":
            return _change_roles(cloud, service_id, *action_of(request))
    return None


def _update(cloud: Cloud, service_id: int, request: Request) -> Response:
    wanted = checked_object(request.text())
    append = "append" in wanted
    if append:
        if "template" not in wanted:
            return Response(400, "Missing template to append", HTML_TYPE)
        append, wanted = bool(wanted["append"]), checked_object(wanted["template"])
    if not append:
        validate(wanted)
    cloud.oneflow.update_service(service_id, wanted, append)
    return DONE


def _act(cloud: Cloud, service_id: int, action: str, parameters: dict[str, Any] | None) -> Response:
    oneflow = cloud.oneflow
    if action == "recover":
        oneflow.recover(service_id, delete=bool((parameters or {}).get("delete")))
    elif action == "release":
        oneflow.release(service_id)
    elif action in KNOWN:
        names = [role["name"] for role in oneflow.service(service_id).roles]
        return _act_on_roles(cloud, service_id, names, action, parameters)
    elif not change_document(oneflow.service(service_id), action, parameters or {}):
        raise OneFlowError(f"Action {action} not supported")
    return DONE


def _act_on_roles(
    cloud: Cloud, service_id: int, role_names: list[str], action: str, parameters: dict[str, Any] | None
) -> Response:
    if parameters is None:
        raise TypeError("undefined method `[]' for nil:NilClass")
    period_seconds = leading_integer(parameters.get("period") or ACTION_PERIOD_SECONDS)
    number = leading_integer(parameters.get("number") or ACTION_NUMBER)
    for name in role_names:
        cloud.oneflow.act_on_role(service_id, name, action, period_seconds, number)
    return DONE


def _scale(cloud: Cloud, service_id: int, request: Request) -> Response:
    wanted = json.loads(request.text())
    # OneFlow writes it into a JSON text of its own, which breaks when it is neither true nor false
    force = {True: True, False: False, "true": True, "false": False}.get(wanted.get("force"))
    cloud.oneflow.scale(service_id, wanted.get("role_name"), leading_integer(wanted.get("cardinality")), force)
    return DONE


def _change_roles(cloud: Cloud, service_id: int, action: str, parameters: dict[str, Any] | None) -> Response:
    if parameters is None:
        raise TypeError("undefined method `[]' for nil:NilClass")
    if action == "add_role":
        role = checked_object(parameters["role"])
        try:
            validate_role(role)
        except ValidationError as error:
            return Response(400, str(error), HTML_TYPE)
        cloud.oneflow.add_role(service_id, role)
    elif action == "remove_role":
        cloud.oneflow.remove_role(service_id, parameters["role"])
    else:
        raise OneFlowError(f"Action {action} not supported")
    return DONE
