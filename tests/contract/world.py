# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated cloud in virtual time in which every id, name and address differs from the recorded ones."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.contract.recorded import Exchange
from tests.opennebula import onegate
from tests.opennebula.clock import VirtualClock
from tests.opennebula.cloud import Cloud
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.messages import Request, Response
from tests.opennebula.networks import Network
from tests.opennebula.services import Service
from tests.opennebula.settings import Settings
from tests.opennebula.states import ServiceState
from tests.opennebula.vms import VirtualMachine

CONTEXT = {"NETWORK": "YES", "TOKEN": "YES", "REPORT_READY": "YES", "SSH_PUBLIC_KEY": "$USER[SSH_PUBLIC_KEY]"}
#: Number of the VM without a service in the recordings, and of the one that was made without a token.
SOLO, WITHOUT_TOKEN = 0, 12


@dataclass(frozen=True)
class Recorded:
    """What a recording calls its service and its VMs.

    :param vms: number of a VM -> its role and its place in the role's count of names.
    """

    service_id: int
    service_name: str
    roles: tuple[dict[str, Any], ...]
    vms: Mapping[int, tuple[str, int]]
    ready_gate: bool = True


@dataclass
class Names:
    """What stands for a recorded name."""

    chance: random.Random
    given: dict[str, str] = field(default_factory=dict)

    def __call__(self, recorded: str) -> str:
        while recorded not in self.given:
            word = "".join(self.chance.choices(string.ascii_lowercase, k=self.chance.randint(2, 9)))
            if word not in self.given.values() and word != "nope":
                self.given[recorded] = word
        return self.given[recorded]


class World:
    """VMs without a service, then one service, made as the recording names it."""

    def __init__(self, seed: int, recorded: Recorded) -> None:
        self.chance = random.Random(seed)
        self.recorded = recorded
        self.names = Names(self.chance)
        self.unknown_ids: dict[int, int] = {}
        self.clock = VirtualClock(self.chance.randint(1_700_000_000, 1_900_000_000))
        # everything happens in this thread, which may as well hold the lock from here on
        self.clock.lock.acquire()
        block = self.chance.randint(1, 250)
        self.network = Network(
            self.chance.randint(0, 99), self.names("net0"), f"10.9.{block}.0/24", f"10.9.{block}.1", self.names("br0")
        )
        settings = Settings(
            autoscaler_interval_seconds=10,
            wait_timeout_seconds=5,
            power_poll_seconds=1,
            onegate_endpoint=f"http://{self.names('gate')}.example:5030",
        )
        self.hypervisor = NullHypervisor()
        self.cloud = Cloud(self.clock, self.hypervisor, settings, [self.network])
        self._make_vms()
        self.service = self._make_service()

    def _make_vms(self) -> None:
        for _ in range(self.chance.randint(0, 3)):
            self.cloud.create_vm_template({"NAME": "other"})
        template = {"CPU": "0.1", "MEMORY": "128", "VCPU": "1", "NIC": [{"NETWORK_ID": str(self.network.id)}]}
        self.template_id = self.cloud.create_vm_template({**template, "CONTEXT": CONTEXT})
        secretive = self.cloud.create_vm_template({**template, "CONTEXT": {**CONTEXT, "TOKEN": "NO"}})
        self._make_others()
        self._numbered = {
            SOLO: self.cloud.create_vm(self.template_id, "solo"),
            WITHOUT_TOKEN: self.cloud.create_vm(secretive, "secretive"),
        }
        self._make_others()

    def _make_others(self) -> None:
        for _ in range(self.chance.randint(0, 3)):
            self.cloud.create_vm(self.template_id, "other")

    def _make_service(self) -> Service:
        roles = [
            {
                **role,
                "name": self.names(role["name"]),
                "type": "vm",
                "template_id": self.template_id,
                "parents": [self.names(parent) for parent in role.get("parents", [])],
            }
            for role in self.recorded.roles
        ]
        template = {
            "name": self.names(self.recorded.service_name),
            "deployment": "straight",
            "ready_status_gate": self.recorded.ready_gate,
            "roles": roles,
        }
        for _ in range(self.chance.randint(1, 9)):
            template_id = self.cloud.oneflow.create_template(template)
        self.cloud.oneflow.start()
        return self.cloud.oneflow.instantiate(template_id, {})

    # --- letting things happen ---

    def until(self, predicate: Callable[[], bool]) -> None:
        """Let time pass until it holds; AssertionError after ten minutes."""
        assert self.clock.wait_until(predicate, 600), [
            f"{event['kind']} vm={event['vm']} {event['text']}" for event in self.cloud.events.since()
        ]

    def until_state(self, state: ServiceState) -> None:
        self.until(lambda: self.service.state == state)

    def until_vm_runs(self, number: int) -> VirtualMachine:
        self.until(lambda: self._find(number) is not None and self.vm(number).lcm_state == 3)
        return self.vm(number)

    def publish(self, number: int, *lines: str) -> None:
        """What a guest would have published, without OneGate."""
        self.cloud.vms.update(self.vm(number), "\n".join(lines))
        self.clock.settle()

    def run_all(self) -> None:
        """Bring the service to RUNNING, every VM reporting ready two seconds after it runs."""
        for number in sorted(self.recorded.vms) if self.recorded.ready_gate else ():
            if self.service.state == ServiceState.RUNNING:
                break
            self.until_vm_runs(number)
            self.clock.advance(2)
            self.publish(number, 'READY="YES"')
        self.until_state(ServiceState.RUNNING)

    # --- what stands for what ---

    def vm(self, number: int) -> VirtualMachine:
        """The VM that stands for the one recorded as ``number``."""
        found = self._find(number)
        assert found is not None, f"nothing stands for VM {number} yet"
        return found

    def _find(self, number: int) -> VirtualMachine | None:
        if number in self._numbered:
            return self.cloud.vms.get(self._numbered[number])
        role, count = self.recorded.vms[number]
        name = f"{self.names(role)}_{count}_(service_{self.service.id})"
        return next((vm for vm in self.cloud.vms.vms.values() if vm.name == name), None)

    def vm_id(self, number: int) -> int:
        """The id that stands for a recorded one; ids of no VM get one of no VM."""
        if number in self._numbered or number in self.recorded.vms:
            return self.vm(number).id
        return self.unknown_ids.setdefault(number, self.chance.randint(10_000, 99_999))

    def address(self, number: int) -> str:
        """The leased address of the VM that stands for ``number``."""
        return self.vm(number).template["NIC"][0]["IP"]

    def token(self, number: int) -> str:
        return self.vm(number).token or ""

    # --- requests ---

    def headers(self, number: int, token: str | None = None) -> dict[str, str]:
        """The headers by which the VM speaks."""
        return {
            "X-ONEGATE-TOKEN": self.token(number) if token is None else token,
            "X-ONEGATE-VMID": str(self.vm(number).id),
        }

    def ask(self, method: str, target: str, headers: Mapping[str, str], body: str | None = None) -> Response:
        """Send one request as it stands and let its consequences begin."""
        parts = urlsplit(target)
        request = Request(
            method,
            parts.path,
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            {"host": "gate", **{name.lower(): value for name, value in headers.items()}},
            (body or "").encode(errors="surrogateescape"),
        )
        response = onegate.respond(self.cloud, request)
        self.clock.settle()
        return response

    def repeat(self, exchange: Exchange, target: str) -> Response:
        """Send a recorded request whose headers name a VM, to ``target``."""
        number = int(exchange.headers["X-ONEGATE-VMID"])
        token = exchange.headers["X-ONEGATE-TOKEN"]
        others = [vm.token for vm in self.cloud.vms.vms.values() if vm.token and vm.id != self.vm(number).id]
        headers = self.headers(number, self.chance.choice(["garbage", *others]) if token == "<other>" else None)
        if "Content-Type" in exchange.headers:
            headers["Content-Type"] = exchange.headers["Content-Type"]
        return self.ask(exchange.method, target, headers, exchange.body)
