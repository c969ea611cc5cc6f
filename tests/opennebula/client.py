# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of a running simulator, over the unix socket in its run directory; works outside the lab's namespace."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.opennebula.simulator import ACCESS_NAME, LOG_NAME, PID_NAME, SOCKET_NAME


class ClientError(Exception):
    """The simulator does not answer or refuses; ``status`` is the HTTP status, 0 when there was none."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_seconds: float) -> None:
        super().__init__("localhost", timeout=timeout_seconds)
        self._path = path

    def connect(self) -> None:
        # addresses of unix sockets are short (108 bytes), run directories are not
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{directory}/{self._path.name}")
        finally:
            os.close(directory)


class Client:
    """Calls of an administrator and of tests. Every call has a timeout and raises :class:`ClientError`."""

    def __init__(self, run_dir: Path | str, timeout_seconds: float = 30) -> None:
        self._run_dir = Path(run_dir)
        self._timeout_seconds = timeout_seconds

    # --- process ---

    def wait_ready(self, timeout_seconds: float = 30) -> None:
        """Return once the simulator answers; its last log lines are in the error otherwise."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                self._control("GET", "/control/ready")
                return
            except ClientError as error:
                if time.monotonic() > deadline:
                    raise ClientError(
                        f"the simulator in {self._run_dir} does not answer after {timeout_seconds:g} s: {error}"
                        f"{self._last_log_lines()}"
                    ) from error
            time.sleep(0.05)

    def shutdown(self, timeout_seconds: float = 150) -> None:
        """Let the simulator end its VMs and itself, and wait until its process has gone."""
        pid = self._pid()
        self._control("POST", "/control/shutdown")
        deadline = time.monotonic() + timeout_seconds
        while (self._run_dir / PID_NAME).exists() or (pid is not None and _is_alive(pid)):
            if time.monotonic() > deadline:
                raise ClientError(
                    f"the simulator in {self._run_dir} (process {pid}) still runs{self._last_log_lines()}"
                )
            time.sleep(0.05)

    def access(self) -> dict[str, Any]:
        """Address, ports, user and password of OneGate, OneFlow and the core."""
        return json.loads((self._run_dir / ACCESS_NAME).read_text(encoding="utf-8"))

    # --- templates and services ---

    def networks(self) -> dict[str, int]:
        """Ids of the virtual networks by name."""
        return self._control("GET", "/control/networks")

    def create_vm_template(self, template: Mapping[str, Any]) -> int:
        return self._control("POST", "/control/vm_templates", template)

    def create_image(self, name: str) -> int:
        return self._control("POST", "/control/images", {"name": name})

    def create_service_template(self, template: Mapping[str, Any]) -> int:
        answer = self._oneflow("POST", "/service_template", template)
        return int(answer["DOCUMENT"]["ID"])

    def instantiate(
        self,
        template_id: int,
        name: str | None = None,
        networks_values: list[Mapping[str, Any]] | None = None,
        user_inputs_values: Mapping[str, Any] | None = None,
    ) -> int:
        """A new service; returns its id while it still deploys."""
        extra = {
            "name": name,
            "networks_values": networks_values,
            "user_inputs_values": user_inputs_values,
        }
        merge = {key: value for key, value in extra.items() if value is not None}
        action = {"action": {"perform": "instantiate", "params": {"merge_template": merge}}}
        answer = self._oneflow("POST", f"/service_template/{template_id}/action", action)
        return int(answer["DOCUMENT"]["ID"])

    def service(self, service_id: int) -> dict[str, Any]:
        """OneFlow's document: ``["DOCUMENT"]["TEMPLATE"]["BODY"]`` has state, roles and log."""
        return self._oneflow("GET", f"/service/{service_id}")

    def delete_service(self, service_id: int) -> None:
        """Start to undeploy; the service answers 404 when it is gone."""
        self._oneflow("DELETE", f"/service/{service_id}")

    def scale(self, service_id: int, role_name: str, cardinality: int, force: bool = False) -> None:
        """Bring a role to a cardinality by hand."""
        wanted = {"role_name": role_name, "cardinality": cardinality, "force": force}
        self._oneflow("POST", f"/service/{service_id}/scale", wanted)

    def recover(self, service_id: int, delete: bool = False) -> None:
        """Let OneFlow try again, or remove a service whatever its state is."""
        self._oneflow(
            "POST", f"/service/{service_id}/action", {"action": {"perform": "recover", "params": {"delete": delete}}}
        )

    def set_conditions(self, **wanted: Any) -> dict[str, Any]:
        """Make something go wrong in the cloud, or right again: see ``tests.opennebula.conditions``."""
        return self._control("PATCH", "/control/conditions", wanted)

    def set_oneflow_available(self, available: bool) -> None:
        """Whether OneGate reaches OneFlow; OneFlow itself goes on."""
        self._control("PUT", "/control/oneflow", {"available": available})

    def restart_oneflow(self) -> None:
        """As after a restart of its server: the autoscaler runs again, services in a transient state are recovered."""
        self._control("POST", "/control/oneflow/restart")

    # --- VMs and events ---

    def create_vm(self, template_id: int, name: str) -> int:
        """A VM without a service."""
        return self._control("POST", "/control/vms", {"template_id": template_id, "name": name})

    def vms(self) -> list[dict[str, Any]]:
        """Records of all VMs ever made, see :meth:`vm`."""
        return self._control("GET", "/control/vms")

    def vm(self, vm_id: int) -> dict[str, Any]:
        """ID NAME STATE LCM_STATE STIME ETIME USER_TEMPLATE TEMPLATE ROLE SERVICE HOST HISTORY."""
        return self._control("GET", f"/control/vms/{vm_id}")

    def token(self, vm_id: int) -> str | None:
        """The VM's OneGate token, to speak as the VM."""
        return self._control("GET", f"/control/vms/{vm_id}/token")

    def terminate(self, vm_id: int, hard: bool = False) -> None:
        """End a VM by hand, outside OneFlow; returns before it is DONE."""
        self._control("POST", f"/control/vms/{vm_id}/terminate", {"hard": hard})

    def delete_recreate(self, vm_id: int) -> None:
        """Throw a VM's guest and disks away and start it anew; returns before the old guest has ended."""
        self._control("POST", f"/control/vms/{vm_id}/recreate")

    def events(self, since: int = 0) -> list[dict[str, Any]]:
        """Events with ``seq`` above ``since``: seq time kind vm service role text."""
        return self._control("GET", f"/control/events?since={since}")

    def configure_onegate(self, **settings: Any) -> None:
        """Change members of :class:`tests.opennebula.onegate_settings.OneGateSettings`; others stay."""
        self._control("PATCH", "/control/onegate", settings)

    # --- faults ---

    def set_fault(self, server: str, kind: str, **more: Any) -> int:
        """Let requests of ``onegate``, ``oneflow`` or ``oned`` go wrong from now on; returns the fault's id.

        :param kind: slow, hang, reset, refuse, status, truncate or garbage, see :class:`tests.opennebula.faults.Kind`.
        :param more: members of :class:`tests.opennebula.faults.Fault`: method, path, times, seconds, status, body.
        """
        return self._control("POST", "/control/faults", {"server": server, "kind": kind, **more})

    def faults(self) -> list[dict[str, Any]]:
        """The faults set and not cleared; ``spoiled`` counts the requests that met each."""
        return self._control("GET", "/control/faults")

    def clear_faults(self, fault_id: int | None = None) -> list[dict[str, Any]]:
        """Take back one fault or all; returns them with their final counts."""
        return self._control("DELETE", "/control/faults" if fault_id is None else f"/control/faults/{fault_id}")

    def set_date(self, server: str, offset_seconds: float | None) -> None:
        """Send the header ``Date``, that far ahead of the real time, with each answer; None sends none."""
        self._control("PUT", f"/control/dates/{server}", {"offset_seconds": offset_seconds})

    # --- transport ---

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        return self._request(method, path, body, {})

    def _oneflow(self, method: str, path: str, body: Any = None) -> Any:
        access = self.access()
        encoded = base64.b64encode(f"{access['user']}:{access['password']}".encode()).decode("ascii")
        return self._request(method, path, body, {"Authorization": f"Basic {encoded}"})

    def _request(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        connection = _UnixConnection(self._run_dir / SOCKET_NAME, self._timeout_seconds)
        try:
            payload = None if body is None else json.dumps(body).encode()
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8")
        except (OSError, http.client.HTTPException) as error:
            raise ClientError(f"{method} {path} of the simulator in {self._run_dir}: {error}") from error
        finally:
            connection.close()
        if response.status >= 400:
            raise ClientError(f"{method} {path}: {response.status} {text}", response.status)
        return json.loads(text) if text else None

    def _pid(self) -> int | None:
        try:
            return int((self._run_dir / PID_NAME).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def _last_log_lines(self, lines: int = 20) -> str:
        try:
            text = (self._run_dir / LOG_NAME).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n" + "\n".join(text.splitlines()[-lines:])


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    # a zombie has ended, whoever forgot to ask for its result
    return state.rpartition(")")[2].split()[:1] != ["Z"]
