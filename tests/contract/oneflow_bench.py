# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated cloud in virtual time, set like the one the recordings were made on, whose every change is seen."""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.contract.oneflow_names import Names
from tests.opennebula import oneflow_rest, onegate
from tests.opennebula.clock import VirtualClock
from tests.opennebula.cloud import Cloud
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.messages import Request, Response
from tests.opennebula.networks import Network
from tests.opennebula.settings import Settings
from tests.opennebula.vms import VirtualMachine

#: Midnight before the recordings.
DAY = 1_795_996_800

AUTHORIZATION = "Basic Y2x1c3RlcjpwYXNz"
WRONG_AUTHORIZATION = "Basic Y2x1c3Rlcjp3cm9uZw=="

#: Times differ from run to run, their places do not.
TIMES = {"registration_time", "start_time", "timestamp", "last_eval"}

CONTEXT = {"NETWORK": "YES", "TOKEN": "YES"}


class DummyHypervisor(NullHypervisor):
    """As OpenNebula's dummy drivers: a shutdown takes a moment."""

    clock: VirtualClock
    seconds = 0.12

    def shutdown(self, name: str, timeout_seconds: float) -> None:
        self.calls.append(("shutdown", name))
        if self.obeys:
            self.clock.call_later(self.seconds, lambda: self.power_off(name))


class Bench:
    """``seen`` holds ``(seconds of the day, service id, snapshot)`` after each change of a service.

    :param nic: whether VMs have an interface by their VM template.
    :param first_vm: the recorded id of the first VM that will be made.
    """

    def __init__(self, names: Names, time_of_day: str = "11:54:53", nic: bool = True, first_vm: int = 1) -> None:
        self.names = names
        self.clock = VirtualClock(DAY + seconds_of(time_of_day))
        # everything happens in this thread, which may as well hold the lock from here on
        self.clock.lock.acquire()
        self.hypervisor = DummyHypervisor()
        self.hypervisor.clock = self.clock
        # as measured: OneFlow's own work takes a part of each round, VMs start 4 s after they are made
        settings = Settings(
            autoscaler_interval_seconds=10.06, wait_timeout_seconds=5, scheduler_seconds=4, power_poll_seconds=0.05
        )
        network = Network(names.network, names.text("net0"), "192.0.2.0/24", "", "br0", first_host=11, size=100)
        self.cloud = Cloud(self.clock, self.hypervisor, settings, [network])
        self.oneflow = self.cloud.oneflow
        self.seen: list[tuple[float, int, dict[str, Any]]] = []
        self._watch_events()
        self._use_up_ids(first_vm)
        template: dict[str, Any] = {"CPU": "1", "MEMORY": "128", "CONTEXT": CONTEXT}
        if nic:
            template["NIC"] = [{"NETWORK_ID": str(names.network)}]
        assert self.cloud.create_vm_template(template) == names.vm_template

    def _watch_events(self) -> None:
        record = self.cloud.events.add

        def record_and_look(now: float, kind: str, text: str, **about: Any) -> None:
            record(now, kind, text, **about)
            service = self.oneflow.services.get(about.get("service"))  # type: ignore[call-overload]
            if service is not None and not kind.startswith("VM_"):
                self.seen.append((now - DAY, service.id, snapshot(service.body)))

        self.cloud.events.add = record_and_look  # type: ignore[method-assign]

    def _use_up_ids(self, first_vm: int) -> None:
        for _ in range(self.names.vm_template):
            self.cloud.create_vm_template({"CPU": "1"})
        for number in range(self.names.vm(first_vm)):
            vm = self.cloud.vms.create(f"other-{number}", {"CPU": "1"}, 0)
            self.cloud.vms.terminate(vm)
        for _ in range(self.names.random.randrange(1, 20)):
            body = {"name": "other", "roles": [{"name": "r", "type": "vm", "template_id": 0}]}
            self.oneflow.delete_template(self.oneflow.create_template(body))

    # --- time ---

    def at(self, time_of_day: str) -> None:
        """Let time pass until then."""
        self.clock.advance(DAY + seconds_of(time_of_day) - self.clock.now())

    def until_tick(self) -> None:
        """Let time pass until the autoscaler has read and acted once more."""
        lines = self.oneflow.server_log.lines
        before = sum(line.component == "AE" for line in lines)
        self.clock.wait_until(lambda: sum(line.component == "AE" for line in lines) > before, 60)
        self.clock.settle()

    # --- requests ---

    def flow(self, method: str, path: str, value: Any = None, authorization: str = AUTHORIZATION) -> Response:
        """A request to OneFlow with a JSON body."""
        body = b"" if value is None else json.dumps(value).encode()
        headers = {"authorization": authorization}
        response = oneflow_rest.respond(self.cloud, "pass", Request(method, path, {}, headers, body))
        answer = copy.deepcopy(response)
        self.clock.settle()
        return answer

    def gate(self, method: str, path: str, vm_id: int, body: bytes = b"") -> Response:
        """A request of a VM to OneGate."""
        headers = {"x-onegate-token": self.cloud.vms.get(vm_id).token or "", "x-onegate-vmid": str(vm_id)}
        headers["content-type"] = "text/plain"
        response = onegate.respond(self.cloud, Request(method, path, {}, headers, body))
        self.clock.settle()
        return response

    def vm(self, recorded_vm: int) -> VirtualMachine:
        """:raises AssertionError: when the simulator has not made the VM that was there in the recording."""
        vm_id = self.names.vm(recorded_vm)
        assert vm_id in self.cloud.vms.vms, f"there is no VM {recorded_vm}"
        return self.cloud.vms.get(vm_id)

    def publish(self, recorded_vm: int, text: str) -> None:
        """An update by the VM itself; names and the VM's id as they were recorded."""
        response = self.gate("PUT", "/vm", self.vm(recorded_vm).id, self.names.text(text).encode())
        assert response.status == 200, response

    def forget(self, recorded_vm: int, attribute: str) -> None:
        """The VM has no such attribute any more."""
        self.vm(recorded_vm).user_template.pop(self.names.text(attribute), None)

    def terminate(self, recorded_vm: int) -> None:
        self.cloud.vms.terminate(self.vm(recorded_vm))
        self.clock.settle()

    # --- what is compared ---

    def answer(self, response: Response) -> dict[str, Any]:
        """Status, type and content as they are compared."""
        content: Any = response.body
        if response.body.startswith(("{", "[")) and response.status < 400 and response.content_type:
            content = without_times(json.loads(response.body))
        return {"status": response.status, "content_type": response.content_type, "content": content}

    def recorded_answer(self, exchange: dict[str, Any]) -> dict[str, Any]:
        """The same of a recorded exchange, with this replay's names."""
        kind = exchange["content_type"] if "content_type" in exchange else exchange["headers"].get("Content-Type")
        content = without_times(self.names.value(exchange["response"]))
        return {"status": exchange["status"], "content_type": kind, "content": content}


def seconds_of(time_of_day: str) -> int:
    hours, minutes, seconds = (int(part) for part in time_of_day.split(":"))
    return (hours * 60 + minutes) * 60 + seconds


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "TIME" if name in TIMES else without_times(member) for name, member in value.items()}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def snapshot(body: dict[str, Any]) -> dict[str, Any]:
    """State of a service and of its roles, as far as any recording holds it."""
    return {
        "state": body["state"],
        "roles": [
            {
                "name": role["name"],
                "state": role["state"],
                "cardinality": role["cardinality"],
                "nodes": [node["deploy_id"] for node in role.get("nodes") or []],
                "cooldown": role.get("cooldown"),
                "policies": [
                    [policy["expression"], policy.get("expression_evaluated"), policy.get("true_evals")]
                    for policy in role.get("elasticity_policies") or []
                ],
            }
            for role in body["roles"]
        ],
    }
