# SPDX-License-Identifier: GPL-3.0-or-later
"""What an administrator does to the cloud beside OneFlow, and what tests read from it. Served on the unix socket only.

Paths below ``/control``; answers are JSON, errors ``{"error": sentence}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.opennebula.cloud import Cloud
from tests.opennebula.messages import Request, Response, compact_json
from tests.opennebula.vms import VmError


def respond(cloud: Cloud, stop: Callable[[], None], request: Request) -> Response:
    """Answer one request; called under the lock.

    :param stop: asks the process to end its VMs and then itself; returns at once.
    """
    try:
        return _route(cloud, stop, request)
    except VmError as error:
        return _answer(409, {"error": str(error)})
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        return _answer(400, {"error": f"{request.method} {request.path}: {error!r}"})


def _route(cloud: Cloud, stop: Callable[[], None], request: Request) -> Response:
    action = (request.method, request.path)
    vm = re.fullmatch(r"/control/vms/(\d+)", request.path)
    token = re.fullmatch(r"/control/vms/(\d+)/token", request.path)
    terminate = re.fullmatch(r"/control/vms/(\d+)/terminate", request.path)
    recreate = re.fullmatch(r"/control/vms/(\d+)/recreate", request.path)
    if action == ("GET", "/control/ready"):
        return _answer(200, {"time": cloud.clock.now()})
    if action == ("GET", "/control/networks"):
        return _answer(200, {network.name: network.id for network in cloud.networks})
    if action == ("POST", "/control/vm_templates"):
        return _answer(201, cloud.create_vm_template(_object(request)))
    if action == ("POST", "/control/images"):
        return _answer(201, cloud.create_image(str(_object(request)["name"])))
    if action == ("PUT", "/control/oneflow"):
        cloud.oneflow.available = bool(_object(request)["available"])
        return _answer(200, {})
    if action == ("POST", "/control/vms"):
        wanted = _object(request)
        return _answer(201, cloud.create_vm(int(wanted["template_id"]), str(wanted["name"])))
    if action == ("GET", "/control/vms"):
        return _answer(200, [cloud.vm_record(vm_id) for vm_id in cloud.vms.vms])
    if request.method == "GET" and vm:
        return _answer(200, cloud.vm_record(int(vm.group(1))))
    if request.method == "GET" and token:
        return _answer(200, cloud.vms.get(int(token.group(1))).token)
    if request.method == "POST" and terminate:
        cloud.vms.terminate(cloud.vms.get(int(terminate.group(1))), hard=bool(_object(request).get("hard")))
        return _answer(200, {})
    if request.method == "POST" and recreate:
        cloud.vms.delete_recreate(cloud.vms.get(int(recreate.group(1))))
        return _answer(200, {})
    if action == ("GET", "/control/events"):
        return _answer(200, cloud.events.since(int(request.query.get("since", "0"))))
    if action == ("PATCH", "/control/conditions"):
        return _answer(200, cloud.set_conditions(**_object(request)))
    if action == ("POST", "/control/oneflow/restart"):
        cloud.oneflow.start()
        return _answer(200, {})
    if action == ("PATCH", "/control/onegate"):
        cloud.onegate.change(_object(request))
        return _answer(200, {})
    if action == ("POST", "/control/shutdown"):
        stop()
        return _answer(202, {})
    return _answer(404, {"error": f"no {request.method} {request.path}"})


def _object(request: Request) -> dict[str, Any]:
    value = json.loads(request.text() or "{}")
    if not isinstance(value, dict):
        raise ValueError("the body must be an object")
    return value


def _answer(status: int, value: Any) -> Response:
    return Response(status, compact_json(value))
