# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's REST interface. A function from a request to a response."""

from __future__ import annotations

import base64
import binascii
import hmac
import json

from tests.opennebula import service_requests, template_requests
from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import HTML_TYPE, Request, Response, compact_json
from tests.opennebula.oneflow_errors import OneFlowError, ServerFault
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
        answer = service_requests.respond(cloud, request) or template_requests.respond(cloud, request)
    except ValidationError as error:
        return Response(400, str(error), HTML_TYPE)
    except OneFlowError as error:
        return Response(error.status, str(error), HTML_TYPE)
    except (ServerFault, json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        # what Ruby would stumble over, too: no object where one is expected
        text = compact_json({"message": str(error), "reason": type(error).__name__})
        return Response(500, text, HTML_TYPE)
    return answer or Response(404, "<h1>Not Found</h1>", HTML_TYPE)


def _refusal(password: str, request: Request) -> str | None:
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return "A username and password must be provided"
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return "Invalid credentials"
    return None if hmac.compare_digest(given, f"{USER}:{password}".encode()) else "Invalid credentials"
