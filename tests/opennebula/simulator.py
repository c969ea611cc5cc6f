# SPDX-License-Identifier: GPL-3.0-or-later
"""One running simulator: the cloud, its servers and the files by which clients find it."""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from pathlib import Path

from tests.opennebula import control, oneflow_rest, onegate
from tests.opennebula.clock import SystemClock
from tests.opennebula.cloud import Cloud
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
        gate = HttpServer.tcp(address, onegate_port, self._answer_onegate, self.clock, "onegate")
        flow = HttpServer.tcp(address, oneflow_port, self._answer_oneflow, self.clock, "oneflow")
        local = HttpServer.unix(run_dir / SOCKET_NAME, self._answer_local, self.clock, "local")
        self._servers = [gate, flow, local]
        access = {
            "address": address,
            "onegate_port": gate.port,
            "oneflow_port": flow.port,
            "user": oneflow_rest.USER,
            "password": self._password,
        }
        _write_private(run_dir / ACCESS_NAME, json.dumps(access))
        _write_private(run_dir / PID_NAME, f"{os.getpid()}\n")

    def _answer_onegate(self, request: Request) -> Response:
        return onegate.respond(self.cloud, request)

    def _answer_oneflow(self, request: Request) -> Response:
        return oneflow_rest.respond(self.cloud, self._password, request)

    def _answer_local(self, request: Request) -> Response:
        if request.path.startswith("/control/"):
            return control.respond(self.cloud, self.request_stop, request)
        return self._answer_oneflow(request)

    def request_stop(self) -> None:
        """Let :meth:`run` return, after it has ended every VM. Safe in a signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Serve; returns when everything has ended."""
        self.clock.start()
        with self.clock.lock:
            self.cloud.oneflow.start()
        for server in self._servers:
            server.start()
        log.info("serving")
        self._stop.wait()
        log.info("stopping: ending all VMs")
        if not self.cloud.end_all_vms():
            log.error("not every VM ended in time")
        for server in self._servers:
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
