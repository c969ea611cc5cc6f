# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's REST interface, the part that is needed. A function from a request to a response."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
from typing import Any

from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import HTML_TYPE, Request, Response, compact_json
from tests.opennebula.oneflow import NoSuchDocument, OneFlowError
from tests.opennebula.service_templates import ValidationError

USER = "cluster"


def respond(cloud: Cloud, password: str, request: Request) -> Response:
    """Answer one request; called under the lock.

    :param password: of the user :data:`USER`.
    """
    refusal = _refusal(password, request)
    if refusal:
        return Response(401, refusal, HTML_TYPE)
    try:
        return _route(cloud, request)
    except (ValidationError, json.JSONDecodeError) as error:
        return Response(400, str(error), HTML_TYPE)
    except NoSuchDocument as error:
        return Response(404, str(error), HTML_TYPE)
    except OneFlowError as error:
        return Response(500, str(error), HTML_TYPE)


def _refusal(password: str, request: Request) -> str | None:
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return "A username and password must be provided"
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return "Invalid credentials"
    return None if hmac.compare_digest(given, f"{USER}:{password}".encode()) else "Invalid credentials"


def _route(cloud: Cloud, request: Request) -> Response:
    oneflow = cloud.oneflow
    method, path = request.method, request.path
    service = re.fullmatch(r"/service/(\d+)", path)
    template = re.fullmatch(r"/service_template/(\d+)", path)
    action = re.fullmatch(r"/service_template/(\d+)/action", path)
    if method == "GET" and path == "/service":
        return _answer(200, _pool([item.document() for item in oneflow.services.values()]))
    if method == "GET" and service:
        return _answer(200, oneflow.service(int(service.group(1))).document())
    if method == "DELETE" and service:
        oneflow.delete(oneflow.service(int(service.group(1))))
        return Response(204, "", None)
    if method == "GET" and path == "/service_template":
        return _answer(200, _pool([oneflow.template_document(number) for number in oneflow.templates]))
    if method == "POST" and path == "/service_template":
        return _answer(201, oneflow.template_document(oneflow.create_template(_object(request))))
    if method == "GET" and template:
        return _answer(200, oneflow.template_document(int(template.group(1))))
    if method == "POST" and action:
        return _template_action(cloud, int(action.group(1)), request)
    return Response(501, f"{method} {path} is not simulated", HTML_TYPE)


def _template_action(cloud: Cloud, template_id: int, request: Request) -> Response:
    action = _object(request).get("action") or {}
    if action.get("perform") != "instantiate":
        return Response(501, f"action {action.get('perform')} is not simulated", HTML_TYPE)
    extra = (action.get("params") or {}).get("merge_template") or {}
    return _answer(201, cloud.oneflow.instantiate(template_id, extra).document())


def _object(request: Request) -> dict[str, Any]:
    value = json.loads(request.text())
    if not isinstance(value, dict):
        raise ValidationError("KEY:  must be a Hash; SCHEMA:")
    return value


def _answer(status: int, value: Any) -> Response:
    return Response(status, compact_json(value), HTML_TYPE)


def _pool(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """The list's key is absent when the pool is empty."""
    members = [document["DOCUMENT"] for document in documents]
    return {"DOCUMENT_POOL": {"DOCUMENT": members} if members else {}}
