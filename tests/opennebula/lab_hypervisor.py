# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests that are hosts of the lab."""

from __future__ import annotations

from pathlib import Path

from tests.lab.lab import HostSpec, Lab
from tests.opennebula.hypervisor import Guest


class LabHypervisor:
    """Starts and stops hosts of an existing lab.

    :param lab_dir: the lab's run directory.
    :param memory_limit_mib: no host gets more, whatever its VM template says.
    """

    def __init__(self, lab_dir: Path, memory_limit_mib: int | None = None) -> None:
        self._lab = Lab.open(lab_dir)
        self._memory_limit_mib = memory_limit_mib

    @property
    def gateway(self) -> str:
        """Address of the management bridge: the guests' gateway, on which the simulator listens."""
        return self._lab.management_gateway

    def deploy(self, guest: Guest) -> None:
        memory_mib = min(guest.memory_mib, self._memory_limit_mib or guest.memory_mib)
        host = HostSpec(
            name=guest.name,
            context=guest.context,
            token=guest.token,
            memory_mib=memory_mib,
            kernel_arguments=guest.kernel_arguments,
        )
        self._lab.start(host, keep_disk=guest.keeps_disk)

    def shutdown(self, name: str, timeout_seconds: float) -> None:
        self._lab.stop(name, hard=False, timeout_seconds=timeout_seconds)

    def destroy(self, name: str) -> None:
        # also for a host that is off by itself: the lab then removes what is left of it
        if any(host.name == name for host in self._lab.hosts()):
            self._lab.stop(name, hard=True)

    def is_running(self, name: str) -> bool:
        return self._lab.is_running(name)
