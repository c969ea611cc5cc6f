# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests as hosts of the lab, against a lab that boots nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.lab.addresses import mac_of as lab_mac_of
from tests.lab.lab import HostSpec, LabError
from tests.lab.namespace import MANAGEMENT, bridge_of
from tests.opennebula import lab_hypervisor
from tests.opennebula.hypervisor import Guest
from tests.opennebula.lab_hypervisor import LabHypervisor
from tests.opennebula.networks import lab_networks, mac_of


class FakeLab:
    """Keeps what it was asked."""

    management_gateway = "10.66.0.1"

    def __init__(self) -> None:
        self.started: list[HostSpec] = []
        self.kept_disks: list[bool] = []
        self.stopped: list[tuple[str, bool, Any]] = []
        self.running: set[str] = set()

    def start(self, spec: HostSpec, keep_disk: bool = False) -> None:
        self.started.append(spec)
        self.kept_disks.append(keep_disk)
        self.running.add(spec.name)

    def stop(self, name: str, hard: bool = False, timeout_seconds: float = 90) -> None:
        if name not in [spec.name for spec in self.started]:
            raise LabError(f"the lab has no host {name}")
        self.stopped.append((name, hard, timeout_seconds))
        self.running.discard(name)

    def hosts(self) -> list[HostSpec]:
        return self.started

    def is_running(self, name: str) -> bool:
        return name in self.running


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    fake = FakeLab()
    monkeypatch.setattr(lab_hypervisor.Lab, "open", lambda run_dir: fake)
    return fake


GUEST = Guest(
    name="vm-3", vm_id=3, memory_mib=8192, context={"VMID": "3"}, token="abc", kernel_arguments=("quiet", "x=1")
)


@pytest.mark.parametrize(("limit", "memory_mib"), [(None, 8192), (1024, 1024), (16384, 8192)])
def test_a_host_gets_all_of_its_guest_and_limited_memory(lab: FakeLab, limit: int | None, memory_mib: int) -> None:
    LabHypervisor(Path("lab"), limit).deploy(GUEST)
    assert lab.started == [HostSpec("vm-3", {"VMID": "3"}, "abc", memory_mib, ("quiet", "x=1"))]
    assert lab.kept_disks == [False]


def test_a_guest_that_was_powered_off_goes_on_with_its_disk(lab: FakeLab) -> None:
    LabHypervisor(Path("lab")).deploy(replace(GUEST, keeps_disk=True))
    assert lab.kept_disks == [True]


def test_clean_and_hard_end(lab: FakeLab) -> None:
    hypervisor = LabHypervisor(Path("lab"))
    hypervisor.deploy(GUEST)
    assert hypervisor.is_running("vm-3")
    hypervisor.shutdown("vm-3", 60)
    assert lab.stopped == [("vm-3", False, 60)]
    assert not hypervisor.is_running("vm-3")
    hypervisor.destroy("vm-3")
    assert lab.stopped[1][:2] == ("vm-3", True), "what a host that powered off by itself left is removed"


def test_destroying_a_host_that_never_was(lab: FakeLab) -> None:
    LabHypervisor(Path("lab")).destroy("vm-9")
    assert lab.stopped == []


def test_the_networks_are_the_labs() -> None:
    management, compute = lab_networks()
    assert management.gateway == MANAGEMENT.gateway
    for network in (management, compute):
        address = network.lease(0)
        bridge = bridge_of(address)
        assert (network.bridge, network.subnet) == (bridge.name, str(bridge.network))
        assert mac_of(address) == lab_mac_of(address)
