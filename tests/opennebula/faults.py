# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that a test orders: which requests of OneGate and OneFlow go wrong, how, and how often."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from tests.opennebula.messages import HTML_TYPE, JSON_TYPE, Delivery, Request, Response

Answer = Callable[[Request], Response]

ONEGATE, ONEFLOW = "onegate", "oneflow"

#: What the real servers say with a status, by server; a fault may bring its own body.
USUAL_BODIES = {
    ONEGATE: {
        401: "Not authorized",
        403: "Action (show) on resource (service) not supported",
        404: "Service 0 not found",
        500: "Internal server error",
    },
    ONEFLOW: {
        401: "Invalid credentials",
        403: "Invalid credentials",
        404: "[one.document.info] Error getting document [0].",
        500: "Internal server error",
    },
}

#: A page of a proxy, and bytes that are no UTF-8.
GARBAGE = "<html><body>\udcff\udcfe{not json"


class Kind(Enum):
    """What happens to a request.

    ``slow`` is answered rightly after ``seconds``, with its effect at once; ``hang`` has no effect and no answer until
    the fault is cleared; ``reset`` has none either. ``refuse`` concerns the whole server: it stops listening.
    ``status`` answers with ``status`` and ``body`` in place of the server, without effect. ``truncate`` sends half of
    the right body, ``garbage`` sends status 200 with ``body`` in its place; both with the request's effect.
    """

    SLOW = "slow"
    HANG = "hang"
    RESET = "reset"
    REFUSE = "refuse"
    STATUS = "status"
    TRUNCATE = "truncate"
    GARBAGE = "garbage"


@dataclass
class Fault:
    """One order.

    :param server: ``onegate`` or ``oneflow``.
    :param method: HTTP method, ``*`` for all.
    :param path: regular expression for the whole path.
    :param times: requests that it still spoils, None without an end.
    :param seconds: of delay, for ``slow``.
    :param status: HTTP status, for ``status``.
    :param body: for ``status`` and ``garbage``; None for the usual one.
    """

    server: str
    kind: Kind
    method: str = "*"
    path: str = ".*"
    times: int | None = None
    seconds: float = 0
    status: int = 0
    body: str | None = None
    id: int = 0
    #: Requests it has spoiled.
    spoiled: int = 0
    cleared: threading.Event = field(default_factory=threading.Event)

    def concerns(self, server: str, request: Request) -> bool:
        """Whether it spoils this request."""
        return (
            self.server == server
            and self.times != 0
            and self.method in ("*", request.method)
            and re.fullmatch(self.path, request.path) is not None
        )

    def shown(self) -> dict[str, Any]:
        """As the control interface shows it."""
        names = ("id", "server", "method", "path", "times", "seconds", "status", "body", "spoiled")
        return {"kind": self.kind.value, **{name: getattr(self, name) for name in names}}


def fault_from(wanted: dict[str, Any]) -> Fault:
    """The fault that an object of the control interface describes.

    :raises ValueError: with a sentence that names the wrong member.
    """
    known = {"server", "kind", "method", "path", "times", "seconds", "status", "body"}
    unknown = set(wanted) - known
    if unknown:
        raise ValueError(f"a fault has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    if wanted.get("server") not in USUAL_BODIES:
        raise ValueError(f"server is {wanted.get('server')!r}; expected one of {', '.join(USUAL_BODIES)}")
    fault = Fault(**{**wanted, "kind": Kind(wanted["kind"])})
    re.compile(fault.path)
    if fault.times is not None and fault.times < 1:
        raise ValueError(f"times is {fault.times}; expected at least 1, or none for no end")
    if (fault.kind is Kind.SLOW) != (fault.seconds > 0):
        raise ValueError(f"seconds is {fault.seconds}; `slow` needs more than 0, other kinds have none")
    if (fault.kind is Kind.STATUS) != (100 <= fault.status <= 599):
        raise ValueError(f"status is {fault.status}; `status` needs an HTTP status, other kinds have none")
    if fault.kind is Kind.REFUSE and (fault.method, fault.path, fault.times) != ("*", ".*", None):
        raise ValueError("`refuse` concerns every connection of a server until it is cleared; use `reset` otherwise")
    return fault


class Faults:
    """The orders that hold, in the order they were given; the first that concerns a request spoils it.

    It has a lock of its own: a fault waits without holding up the cloud.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._given = 0

    def add(self, fault: Fault) -> int:
        """Let it hold from now on; returns its id."""
        with self._lock:
            self._given += 1
            fault.id = self._given
            self._faults.append(fault)
            return fault.id

    def clear(self, fault_id: int | None = None) -> list[Fault]:
        """Take back one order or all, used up ones too, and let go of what hangs; returns them."""
        with self._lock:
            gone = [fault for fault in self._faults if fault_id in (None, fault.id)]
            self._faults = [fault for fault in self._faults if fault not in gone]
        for fault in gone:
            fault.cleared.set()
        return gone

    def shown(self) -> list[dict[str, Any]]:
        """All orders, with how many requests each has spoiled."""
        with self._lock:
            return [fault.shown() for fault in self._faults]

    def refuses(self, server: str) -> bool:
        """Whether a server is to refuse connections."""
        with self._lock:
            return any(fault.kind is Kind.REFUSE and fault.server == server for fault in self._faults)

    def answer(self, server: str, request: Request, right: Answer) -> Response:
        """The answer to a request: the right one or a spoiled one. May take as long as the fault wants."""
        fault = self._take(server, request)
        return right(request) if fault is None else spoiled(fault, request, right)

    def _take(self, server: str, request: Request) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if fault.concerns(server, request):
                    fault.spoiled += 1
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None


def spoiled(fault: Fault, request: Request, right: Answer) -> Response:
    """The answer of a request that the fault concerns."""
    content_type = JSON_TYPE if fault.server == ONEGATE else HTML_TYPE
    if fault.kind is Kind.SLOW:
        response = right(request)
        fault.cleared.wait(fault.seconds)
        return response
    if fault.kind is Kind.STATUS:
        usual = USUAL_BODIES[fault.server].get(fault.status, "")
        return Response(fault.status, usual if fault.body is None else fault.body, content_type)
    if fault.kind is Kind.TRUNCATE:
        return replace(right(request), delivery=Delivery.CUT_SHORT)
    if fault.kind is Kind.GARBAGE:
        right(request)
        return Response(200, GARBAGE if fault.body is None else fault.body, content_type)
    if fault.kind is Kind.HANG:
        fault.cleared.wait()
    # what hung, what is to be reset, and a connection from before the server began to refuse
    return Response(0, delivery=Delivery.NOTHING)
