# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What OneGate shows of a VM and of its service, typed."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_RUNNING,
    VM_LCM_RUNNING,
    VM_STATE_ACTIVE,
    service_state_name,
)

WORKER_ROLE_PREFIX = "worker"


@dataclass(frozen=True)
class ServiceNode:
    """One VM in a role's list. name is None when OneFlow could not read the VM."""

    vm_id: int
    name: str | None


@dataclass(frozen=True)
class ServiceRole:
    """A role. nodes keep OneFlow's order: the first is the oldest, and the one it removes next.

    len(nodes) differs from cardinality while VMs come and go; that is normal.
    """

    name: str
    cardinality: int
    state: int
    nodes: tuple[ServiceNode, ...]

    @property
    def vm_ids(self):
        """VM ids in OneFlow's order."""
        return tuple(node.vm_id for node in self.nodes)


@dataclass(frozen=True)
class Service:
    """A OneFlow service as OneGate shows it (min_vms, max_vms and policies are never shown)."""

    id: int
    name: str
    state: int
    roles: tuple[ServiceRole, ...]

    @property
    def is_running(self):
        """True in state RUNNING only."""
        return self.state == SERVICE_RUNNING

    @property
    def state_name(self):
        """The state's name, e.g. RUNNING."""
        return service_state_name(self.state)

    def role(self, name):
        """The role of that name, or None."""
        return next((role for role in self.roles if role.name == name), None)

    def role_of(self, vm_id):
        """The role that lists this VM id (int), or None."""
        return next((role for role in self.roles if vm_id in role.vm_ids), None)

    def worker_roles(self):
        """The roles whose name starts with "worker", in the service's order."""
        return tuple(role for role in self.roles if role.name.startswith(WORKER_ROLE_PREFIX))


@dataclass(frozen=True)
class Vm:
    """A VM as OneGate shows it.

    user_template: values are str; a list of str where an attribute occurs more than once, a dict for a vector.
    addresses: the IPv4 address of each NIC in the VM's order (the compute network is the last NIC).
    """

    id: int
    name: str | None
    state: int
    lcm_state: int
    user_template: dict[str, object]
    addresses: tuple[str, ...]

    @property
    def is_running(self):
        """ACTIVE and RUNNING (3/3)."""
        return self.state == VM_STATE_ACTIVE and self.lcm_state == VM_LCM_RUNNING

    @property
    def role_name(self):
        """The OneFlow role of the VM, or None outside a service."""
        return self.user_template.get("ROLE_NAME")

    @property
    def service_id(self):
        """Id of the VM's service as text, or None outside a service."""
        return self.user_template.get("SERVICE_ID")
