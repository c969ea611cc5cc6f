# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated cloud in virtual time with one service, driven the way its VMs would drive it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.opennebula import oneflow_rest, onegate
from tests.opennebula.clock import VirtualClock
from tests.opennebula.cloud import Cloud
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.messages import Request, Response
from tests.opennebula.services import Service
from tests.opennebula.settings import Settings
from tests.opennebula.states import RoleState, ServiceState, VmState

SAMPLES = Path(__file__).parents[2] / "contract" / "recordings"

GROW = {"type": "CHANGE", "adjust": 1, "expression": "SLURM_PENDING > 0", "cooldown": 20}
SHRINK = {"type": "CHANGE", "adjust": -1, "expression": "OLDEST_IDLE > 0.99", "cooldown": 20}

CONTEXT = {
    "NETWORK": "YES",
    "TOKEN": "YES",
    "REPORT_READY": "YES",
    "ONEAPP_ROLE": "$ONEAPP_ROLE",
    "ONEAPP_NFS_HOST": "$ONEAPP_NFS_HOST",
}


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


def service_template(template_id: int, gate: bool = True, **worker: Any) -> dict[str, Any]:
    """Storage, portal and worker, straight; ``worker`` overrides attributes of the worker role."""

    def role(name: str, *parents: str, **more: Any) -> dict[str, Any]:
        contents: dict[str, Any] = {
            "NIC": [{"NETWORK_ID": "$Management"}, {"NETWORK_ID": "$Compute"}],
            "ONEAPP_ROLE": name,
        }
        if "storage" in parents:
            contents["ONEAPP_NFS_HOST"] = "${storage.TEMPLATE.CONTEXT.ETH1_IP}"
        return {
            "name": name,
            "type": "vm",
            "template_id": template_id,
            "cardinality": 1,
            "min_vms": 1,
            "parents": list(parents),
            "template_contents": contents,
            **more,
        }

    elastic = {"max_vms": 3, "cooldown": 20, "elasticity_policies": [GROW, SHRINK], **worker}
    return {
        "name": "slurm",
        "deployment": "straight",
        "ready_status_gate": gate,
        "networks": {"Management": "M|network|m| |id:", "Compute": "M|network|c| |id:"},
        "roles": [role("storage"), role("portal", "storage"), role("worker", "storage", "portal", **elastic)],
    }


NETWORKS = [{"Management": {"id": "0"}}, {"Compute": {"id": "1"}}]


class Scenario:
    """VM 0 is a VM without a service; the service's are 1 (storage), 2 (portal), 3 and up (workers).

    The autoscaler reads every 10 s, a silent wait looks after 5 s.
    """

    def __init__(self, gate: bool = True, obeys: bool = True, settings: Settings | None = None, **worker: Any) -> None:
        self.clock = VirtualClock()
        # everything happens in this thread, which may as well hold the lock from here on
        self.clock.lock.acquire()
        self.hypervisor = NullHypervisor(obeys=obeys)
        self.cloud = Cloud(
            self.clock,
            self.hypervisor,
            settings or Settings(autoscaler_interval_seconds=10, wait_timeout_seconds=5, power_poll_seconds=1),
        )
        self.gate = gate
        template_id = self.cloud.create_vm_template({"NAME": "host", "CPU": "1", "MEMORY": "1024", "CONTEXT": CONTEXT})
        self.cloud.create_vm(template_id, "solo")
        self.template = service_template(template_id, gate, **worker)
        flow_template = self.cloud.oneflow.create_template(self.template)
        self.cloud.oneflow.start()
        self.service: Service = self.cloud.oneflow.instantiate(flow_template, {"networks_values": NETWORKS})

    # --- driving ---

    def advance(self, seconds: float) -> Scenario:
        self.clock.advance(seconds)
        return self

    def until(self, predicate: Callable[[], bool], seconds: float = 600) -> None:
        assert self.clock.wait_until(predicate, seconds), self.story()

    def until_state(self, state: ServiceState, seconds: float = 600) -> None:
        self.until(lambda: self.service.state == state, seconds)

    def running(self) -> Scenario:
        """Bring the service to RUNNING; with the gate every VM reports ready as soon as it runs."""
        for vm_id in (1, 2, 3) if self.gate else ():
            self.until(lambda vm_id=vm_id: self.runs(vm_id))
            self.publish(vm_id, "READY=YES")
        self.until_state(ServiceState.RUNNING)
        return self

    def grown(self, workers: int) -> Scenario:
        """RUNNING with so many workers, nothing published but READY."""
        self.running()
        while len(self.nodes()) < workers:
            self.cloud.oneflow.scale(self.service.id, "worker", len(self.nodes()) + 1)
            newest = self.nodes()[-1]
            self.until(lambda newest=newest: self.runs(newest))
            if self.gate:
                self.publish(newest, "READY=YES")
            self.until_state(ServiceState.RUNNING)
        return self

    def publish(self, vm_id: int, *lines: str) -> None:
        """An update by the VM itself, in the form of the official client."""
        response = self.put("/vm", vm_id, "\n".join(lines))
        assert (response.status, response.body) == (200, ""), response
        self.clock.settle()

    def put(self, path: str, vm_id: int, text: str, form: bool = True) -> Response:
        body = urlencode({"data": text, "type": "1"}) if form else text
        kind = "application/x-www-form-urlencoded" if form else "text/plain"
        return self.gate_request("PUT", path, vm_id, body.encode(), {"content-type": kind})

    def get(self, path: str, vm_id: int) -> Response:
        return self.gate_request("GET", path, vm_id)

    def gate_request(
        self, method: str, path: str, vm_id: int, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Response:
        token = self.cloud.vms.get(vm_id).token or ""
        own = {"x-onegate-token": token, "x-onegate-vmid": str(vm_id), "host": "gate:5030"}
        return onegate.respond(self.cloud, Request(method, path, {}, {**own, **(headers or {})}, body))

    def flow_request(self, method: str, path: str, value: Any = None, authorization: str = "") -> Response:
        body = b"" if value is None else json.dumps(value).encode()
        headers = {"authorization": authorization or "Basic Y2x1c3RlcjpwYXNz"}
        return oneflow_rest.respond(self.cloud, "pass", Request(method, path, {}, headers, body))

    def terminate(self, vm_id: int, hard: bool = False) -> None:
        """By hand, outside OneFlow."""
        self.cloud.vms.terminate(self.cloud.vms.get(vm_id), hard)

    # --- looking ---

    def runs(self, vm_id: int) -> bool:
        vm = self.cloud.vms.vms.get(vm_id)
        return vm is not None and (vm.state, vm.lcm_state) == (3, 3)

    def vm_state(self, vm_id: int) -> VmState:
        return self.cloud.vms.get(vm_id).state

    @property
    def worker(self) -> dict[str, Any]:
        role = self.service.role("worker")
        assert role is not None
        return role

    def worker_state(self) -> RoleState:
        return RoleState(self.worker["state"])

    def nodes(self, role: str = "worker") -> list[int]:
        return [node["deploy_id"] for node in (self.service.role(role) or {}).get("nodes") or []]

    def policies(self) -> list[tuple[str | None, int | None]]:
        """Expression with values and true_evals of the worker's policies."""
        return [
            (item.get("expression_evaluated"), item.get("true_evals")) for item in self.worker["elasticity_policies"]
        ]

    def events(self, *kinds: str) -> list[str]:
        """Texts of all events of these kinds."""
        return [event["text"] for event in self.cloud.events.since() if event["kind"] in kinds]

    def story(self) -> str:
        start = self.cloud.events.since()[0]["time"]
        return "\n".join(
            f"{event['time'] - start:8.1f} {event['kind']} vm={event['vm']} {event['text']}"
            for event in self.cloud.events.since()
        )
