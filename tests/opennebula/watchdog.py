# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's watchdog: what a VM's state does to a service that nothing else works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from tests.opennebula.records import Records
from tests.opennebula.server_log import ServerLog
from tests.opennebula.services import Service, role_node_ids
from tests.opennebula.states import FAILURE_LCM_STATES, LcmState, RoleState, ServiceState, VmState
from tests.opennebula.vms import VirtualMachine, VmPool


class Verdict(Enum):
    """What happens to the service."""

    WARNING = "service and role go to WARNING"
    GONE = "the node leaves the role and the cardinality drops by one"
    RUNNING = "the role runs; the service, too, when all its roles do"


def verdict(state: int, lcm_state: int) -> Verdict | None:
    """None: other states are ignored."""
    failed = lcm_state == LcmState.UNKNOWN or lcm_state in FAILURE_LCM_STATES
    if state == VmState.POWEROFF or (state == VmState.ACTIVE and failed):
        return Verdict.WARNING
    if state == VmState.DONE:
        return Verdict.GONE
    if state == VmState.ACTIVE and lcm_state == LcmState.RUNNING:
        return Verdict.RUNNING
    return None


class Watchdog:
    """Watches services from RUNNING until something else takes them.

    ``on_empty`` is called with a service that is to be deleted automatically once all its VMs are gone.
    """

    def __init__(self, services: Mapping[int, Service], vms: VmPool, records: Records, log: ServerLog) -> None:
        self._services = services
        self._vms = vms
        self._records = records
        self._log = log
        self.on_empty: Callable[[Service], None] = lambda service: None

    def take(self, service: Service) -> None:
        """Watch a service from now on, beginning with a look at every VM."""
        service.watched = True
        for vm_id in list(service.node_ids()):
            self._apply(service, self._vms.get(vm_id))

    def let_go(self, service: Service) -> None:
        service.watched = False

    def restart(self) -> None:
        """Take what a starting OneFlow takes: services in RUNNING or WARNING, whose roles without VMs then run."""
        for service in list(self._services.values()):
            service.watched = False
            if service.state in (ServiceState.RUNNING, ServiceState.WARNING):
                for role in service.roles:
                    if not role_node_ids(role):
                        self._runs(service, role)
                self.take(service)

    def hear_state(self, vm: VirtualMachine) -> None:
        """A VM has changed its state."""
        service = self._services.get(vm.service_id) if vm.service_id is not None else None
        if service is not None and service.watched:
            self._apply(service, vm)

    def _apply(self, service: Service, vm: VirtualMachine) -> None:
        role = service.role(vm.role_name)
        found = verdict(vm.state, vm.lcm_state)
        if role is None or found is None:
            return
        if found == Verdict.WARNING:
            if service.state != ServiceState.WARNING:
                self._records.set_state(service, ServiceState.WARNING)
            if role["state"] != RoleState.WARNING:
                self._records.set_role_state(service, role, RoleState.WARNING)
        elif found == Verdict.RUNNING:
            self._runs(service, role)
        elif vm.id in role_node_ids(role):
            self._gone(service, role, vm)

    def _runs(self, service: Service, role: dict[str, Any]) -> None:
        if role["state"] != RoleState.RUNNING:
            self._records.set_role_state(service, role, RoleState.RUNNING)
        if service.all_roles(RoleState.RUNNING) and service.state != ServiceState.RUNNING:
            self._records.set_state(service, ServiceState.RUNNING)

    def _gone(self, service: Service, role: dict[str, Any], vm: VirtualMachine) -> None:
        # the state stays as it is: a WARNING outlives the VM that caused it
        cardinality = role["cardinality"] - 1
        if cardinality >= 0:
            self._records.set_cardinality(service, role, cardinality)
        self._records.remove_nodes(service, role, [vm.id])
        self._log.info(
            "WD", f"Node {vm.id} is done, updating service {service.id}:{role['name']} cardinality to {cardinality}"
        )
        self.delete_if_empty(service)

    def delete_if_empty(self, service: Service) -> None:
        """For a template with ``automatic_deletion``."""
        if service.body.get("automatic_deletion") and not list(service.node_ids()):
            self._log.info("LCM", f"Automatically deleting service {service.id}")
            self.on_empty(service)
