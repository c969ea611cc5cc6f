# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole cloud: virtual machines, OneFlow and the record of events, under one lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.opennebula.clock import Clock
from tests.opennebula.conditions import Conditions
from tests.opennebula.events import EventLog
from tests.opennebula.hypervisor import Hypervisor
from tests.opennebula.networks import Network, lab_networks
from tests.opennebula.oneflow import OneFlow
from tests.opennebula.onegate_settings import OneGateSettings
from tests.opennebula.settings import Settings
from tests.opennebula.states import VmState
from tests.opennebula.vms import VmError, VmPool


class Cloud:
    """Everything that one simulator holds. Methods take the lock themselves only where they say so."""

    def __init__(
        self,
        clock: Clock,
        hypervisor: Hypervisor,
        settings: Settings | None = None,
        networks: list[Network] | None = None,
    ) -> None:
        self.clock = clock
        self.settings = settings or Settings()
        self.onegate = OneGateSettings()
        self.events = EventLog()
        self.networks = networks if networks is not None else lab_networks()
        self.vm_templates: dict[int, dict[str, Any]] = {}
        self.conditions = Conditions()
        self.vms = VmPool(clock, hypervisor, self.networks, self.events, self.settings, self.conditions)
        self.oneflow = OneFlow(clock, self.vms, self.vm_templates, self.events, self.settings, self.conditions)

    def set_conditions(self, **wanted: Any) -> dict[str, Any]:
        """Make something go wrong, or right again; returns all conditions.

        :raises ValueError: for a condition that there is not.
        """
        conditions = self.conditions.change(**wanted)
        self.vms.schedule_pending()
        return conditions

    def create_vm_template(self, template: Mapping[str, Any]) -> int:
        """Register a VM template and return its id."""
        template_id = len(self.vm_templates)
        self.vm_templates[template_id] = {name.upper(): value for name, value in template.items()}
        return template_id

    def create_vm(self, template_id: int, name: str) -> int:
        """A VM without a service.

        :raises VmError: for an unknown template or without a free address.
        """
        if template_id not in self.vm_templates:
            raise VmError(f"[one.template.instantiate] Error getting virtual machine template [{template_id}].")
        return self.vms.create(name, self.vm_templates[template_id], template_id).id

    def vm_record(self, vm_id: int) -> dict[str, Any]:
        """A VM's document with its role and history.

        :raises VmError: for an unknown id.
        """
        vm = self.vms.get(vm_id)
        return {
            **vm.document(),
            "ID": vm.id,
            "STATE": int(vm.state),
            "LCM_STATE": int(vm.lcm_state),
            "STIME": vm.start_time,
            "ETIME": vm.end_time,
            "ROLE": vm.role_name,
            "SERVICE": vm.service_id,
            "HOST": vm.host_name,
            "HISTORY": [dict(entry) for entry in vm.history],
        }

    def end_all_vms(self, timeout_seconds: float = 120) -> bool:
        """Take the power of every VM and wait until all are DONE. Takes the lock; False when time ran out."""
        with self.clock.lock:
            self.oneflow.stop()
            for vm in list(self.vms.vms.values()):
                try:
                    self.vms.terminate(vm, hard=True)
                except VmError:
                    # it is ending already
                    continue
            return self.clock.wait_until(
                lambda: all(vm.state == VmState.DONE for vm in self.vms.vms.values()), timeout_seconds
            )
