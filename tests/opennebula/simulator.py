# SPDX-License-Identifier: GPL-3.0-or-later
"""One running simulator: the cloud, its servers and the files by which clients find it."""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from pathlib import Path

from tests.opennebula import control, control_faults, oneflow_rest, onegate
from tests.opennebula.clock import SystemClock
from tests.opennebula.cloud import Cloud
from tests.opennebula.dates import Dates
from tests.opennebula.faults import ONEFLOW, ONEGATE, Answer, Faults
from tests.opennebula.hypervisor import Hypervisor
from tests.opennebula.messages import Request, Response
from tests.opennebula.server import HttpServer
from tests.opennebula.settings import Settings

log = logging.getLogger(__name__)

ONEGATE_PORT = 5030
ONEFLOW_PORT = 2474

SOCKET_NAME = "opennebula.sock"
PID_NAME = "opennebula.pid"
LOG_NAME = "opennebula.log"
#: JSON: address, onegate_port, oneflow_port, user, password. Readable by its owner only.
ACCESS_NAME = "opennebula.json"


class Simulator:
    """Serves one cloud until :meth:`request_stop` is called.

    :param run_dir: where socket, pid and access file go; made when it is missing.
    :param address: on which OneGate and OneFlow listen.
    """

    def __init__(
        self,
        run_dir: Path,
        hypervisor: Hypervisor,
        address: str,
        settings: Settings,
        onegate_port: int = ONEGATE_PORT,
        oneflow_port: int = ONEFLOW_PORT,
    ) -> None:
        run_dir.mkdir(parents=True, exist_ok=True)
        self._run_dir = run_dir
        self._password = secrets.token_urlsafe(16)
        self._stop = threading.Event()
        self.clock = SystemClock()
        self.cloud = Cloud(self.clock, hypervisor, settings)
        self._faults = Faults()
        self._dates = Dates(self.clock.now)
        self._refusing = threading.Lock()
        gate = HttpServer.tcp(address, onegate_port, self._troubled(ONEGATE, self._answer_onegate), ONEGATE)
        flow = HttpServer.tcp(address, oneflow_port, self._troubled(ONEFLOW, self._answer_oneflow), ONEFLOW)
        self._public = {ONEGATE: gate, ONEFLOW: flow}
        self._local = HttpServer.unix(run_dir / SOCKET_NAME, self._answer_local, "local")
        access = {
            "address": address,
            "onegate_port": gate.port,
            "oneflow_port": flow.port,
            "user": oneflow_rest.USER,
            "password": self._password,
        }
        _write_private(run_dir / ACCESS_NAME, json.dumps(access))
        _write_private(run_dir / PID_NAME, f"{os.getpid()}\n")

    def _troubled(self, server: str, right: Answer) -> Answer:
        """Answers as the network sees them: with the faults and the dates that a test ordered."""
        return lambda request: self._dates.dated(server, self._faults.answer(server, request, right))

    def _answer_onegate(self, request: Request) -> Response:
        with self.clock.lock:
            return onegate.respond(self.cloud, request)

    def _answer_oneflow(self, request: Request) -> Response:
        with self.clock.lock:
            return oneflow_rest.respond(self.cloud, self._password, request)

    def _answer_local(self, request: Request) -> Response:
        """Control, and OneFlow without its faults."""
        if control_faults.PATHS.fullmatch(request.path):
            return control_faults.respond(self._faults, self._dates, self._apply_refusals, request)
        if request.path.startswith("/control/"):
            with self.clock.lock:
                return control.respond(self.cloud, self.request_stop, request)
        return self._answer_oneflow(request)

    def _apply_refusals(self) -> None:
        with self._refusing:
            for name, server in self._public.items():
                if self._faults.refuses(name):
                    server.refuse()
                else:
                    server.start()

    def request_stop(self) -> None:
        """Let :meth:`run` return, after it has ended every VM. Safe in a signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Serve; returns when everything has ended."""
        self.clock.start()
        with self.clock.lock:
            self.cloud.oneflow.start()
        for server in (*self._public.values(), self._local):
            server.start()
        log.info("serving")
        self._stop.wait()
        log.info("stopping: ending all VMs")
        self._faults.clear()
        if not self.cloud.end_all_vms():
            log.error("not every VM ended in time")
        with self._refusing:
            for server in (*self._public.values(), self._local):
                server.stop()
        self.clock.stop()
        for name in (SOCKET_NAME, ACCESS_NAME, PID_NAME):
            (self._run_dir / name).unlink(missing_ok=True)
        log.info("stopped")


def _write_private(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
