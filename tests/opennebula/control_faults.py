# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the control interface that makes OneGate and OneFlow go wrong. Called without the cloud's lock.

``POST /control/faults`` (answers with the id), ``GET``, ``DELETE /control/faults`` and ``/control/faults/ID``;
``PUT /control/dates/SERVER`` with ``{"offset_seconds": NUMBER or null}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from tests.opennebula.dates import Dates
from tests.opennebula.faults import USUAL_BODIES, Faults, fault_from
from tests.opennebula.messages import Request, Response, compact_json

PATHS = re.compile(r"/control/(?:faults(?:/\d+)?|dates/[^/]+)")


def respond(faults: Faults, dates: Dates, apply_refusals: Callable[[], None], request: Request) -> Response:
    """Answer one request whose path matches :data:`PATHS`.

    :param apply_refusals: lets each server listen or not, as the faults want it; returns when it is so.
    """
    try:
        if request.path.startswith("/control/dates/"):
            return _date(dates, request)
        return _fault(faults, apply_refusals, request)
    except (KeyError, TypeError, ValueError, re.error) as error:
        return _answer(400, {"error": f"{request.method} {request.path}: {error}"})


def _fault(faults: Faults, apply_refusals: Callable[[], None], request: Request) -> Response:
    wanted_id = re.fullmatch(r"/control/faults/(\d+)", request.path)
    if request.method == "GET" and not wanted_id:
        return _answer(200, faults.shown())
    if request.method == "POST" and not wanted_id:
        fault_id = faults.add(fault_from(json.loads(request.text())))
        apply_refusals()
        return _answer(201, fault_id)
    if request.method == "DELETE":
        gone = faults.clear(int(wanted_id.group(1)) if wanted_id else None)
        apply_refusals()
        return _answer(200, [fault.shown() for fault in gone])
    return _answer(404, {"error": f"no {request.method} {request.path}"})


def _date(dates: Dates, request: Request) -> Response:
    server = request.path.rpartition("/")[2]
    if server not in USUAL_BODIES:
        raise ValueError(f"no server {server}; there are {', '.join(USUAL_BODIES)}")
    body: Mapping[str, float | None] = json.loads(request.text())
    offset = body["offset_seconds"]
    if offset is None:
        dates.offsets_seconds.pop(server, None)
    else:
        dates.offsets_seconds[server] = float(offset)
    return _answer(200, dates.offsets_seconds)


def _answer(status: int, value: object) -> Response:
    return Response(status, compact_json(value))
