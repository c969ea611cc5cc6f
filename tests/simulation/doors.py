# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pool's real ticks get in place of their clients of Slurm and OneGate. Every call takes virtual time."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, ServiceNode, ServiceRole, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import (
    NodeBusyError,
    SlurmError,
    SlurmUnreachableError,
)
from tests.opennebula import user_template
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.states import VmState
from tests.opennebula.vms import VirtualMachine, VmError
from tests.simulation.schedule import AFTER_DRAIN, AFTER_IDLE, AFTER_RETURN, BEFORE_CHANGE, IN_CHANGE
from tests.simulation.slurm_model import NodeIsBusy

if TYPE_CHECKING:
    from tests.simulation.hosts import Host

OURS = "onehpc:"


def is_ours(reason: str) -> bool:
    """A reason that the pool has written."""
    return reason.startswith(OURS)


class SlurmDoor:
    """The methods of SlurmClient that ticks use."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._world = host.world
        self._slurm = host.world.slurm
        self._changes = 0

    def _call(self) -> None:
        self._world.clock.pass_time(self._host.call_seconds)
        self._require_controller()

    def _require_controller(self) -> None:
        if not self._is_reached:
            raise SlurmUnreachableError("Unable to contact slurm controller")

    @property
    def _is_reached(self) -> bool:
        return self._slurm.is_up and not self._host.is_cut_off

    def is_controller_up(self) -> bool:
        self._world.clock.pass_time(self._host.call_seconds)
        return self._is_reached

    def nodes(self, with_placeholders: bool = False):
        self._call()
        return self._slurm.show_nodes(with_placeholders)

    def jobs(self):
        self._call()
        return self._slurm.show_jobs()

    def node(self, name: str, with_placeholders: bool = False):
        """Also the last look before a change, and the first one after it."""
        if not self._changes:
            self._world.moment(BEFORE_CHANGE, self._world.host_of_node(name))
        self._call()
        record = self._slurm.nodes.get(name)
        if record is None or (record.is_future and not with_placeholders):
            return None
        return record.show(self._slurm.version != "22.05")

    # A change follows its last look at once; what it waits for is the answer.

    def drain_node(self, name: str, reason: str):
        record = self._changeable(name)
        self._world.monitor.pool_drains(self._host, record, reason)
        was_drained = record.is_drained
        if not was_drained:
            self._world.moment(IN_CHANGE, self._world.host_of_node(name))
        self._slurm.drain(name, reason)
        self._world.say(f"{self._host.name} puts '{reason}' on {name}")
        if not was_drained:
            self._world.moment(AFTER_DRAIN, self._world.host_of_node(name))
        elif reason.endswith(":returning"):
            self._world.moment(AFTER_RETURN, self._world.host_of_node(name))
        return self._shown_after(name)

    def undrain_node(self, name: str):
        record = self._changeable(name)
        self._world.monitor.pool_undrains(self._host, record)
        self._slurm.undrain(name)
        self._world.say(f"{self._host.name} returns {name}")
        return self._shown_after(name)

    def set_node_down(self, name: str, reason: str):
        record = self._changeable(name)
        self._world.monitor.pool_sets_down(self._host, record)
        self._slurm.set_down(name, reason)
        self._world.say(f"{self._host.name} sets {name} down")
        shown = self.node(name)
        self._changes -= 1
        return shown

    def delete_node(self, name: str) -> None:
        self._require_controller()
        record = self._slurm.nodes.get(name)
        if record is None:
            return
        try:
            self._slurm.delete(name)
        except NodeIsBusy:
            raise NodeBusyError(f"slurmctld did not delete node {name}: a job still uses it.") from None
        self._world.monitor.pool_deletes(self._host, record)
        self._world.say(f"{self._host.name} deletes {name}")
        self._world.clock.pass_time(self._host.call_seconds)

    def create_placeholder(self, name, cpus, memory_mib, features, gpus=0):
        self._call()
        self._slurm.create_placeholder(name, cpus, memory_mib, frozenset(features))
        return self._slurm.nodes[name].show(True)

    def _changeable(self, name: str):
        self._changes += 1
        self._require_controller()
        record = self._slurm.nodes.get(name)
        if record is None or record.is_future:
            raise SlurmError("slurm_update error: Invalid node name specified")
        return record

    def _shown_after(self, name: str):
        shown = self.node(name)
        self._changes -= 1
        if shown is None:
            raise SlurmError(f"Node {name} is gone after 'scontrol update'")
        return shown


class GateDoor:
    """The methods of OneGateClient that ticks use, with OneGate's rules and the faults of the moment."""

    endpoint = "http://gate:5030"

    def __init__(self, host: Host) -> None:
        self._host = host
        self._world = host.world
        self.vm_id = host.vm_id
        self.timeout_seconds = 8.0

    def _call(self, method: str, path: str, needs_oneflow: bool = False) -> bool:
        """Let the call take its time; True when it takes effect though its answer gets lost.

        :raises OneGateError: as the faults of the moment want it.
        """
        self._world.clock.pass_time(self._host.call_seconds)
        fault = self._world.gate_fault(self._host)
        if fault == "lost":
            return True
        if fault == "nothing":
            self._no_answer(method, path)
        if fault == "500":
            self._refuse(method, path, 500, "Internal server error", retryable=True)
        if fault == "garbage":
            self._refuse(method, path, 200, "The answer is not what OneGate sends.")
        if needs_oneflow and not self._world.cloud.oneflow.available:
            self._refuse(method, path, 404, f"Service {self._world.service_id} not found")
        return False

    def _no_answer(self, method: str, path: str) -> None:
        self._world.clock.pass_time(min(2.0, self.timeout_seconds))
        self._refuse(method, path, None, "OneGate did not answer.", retryable=True)

    def _refuse(self, method: str, path: str, status: int | None, sentence: str, retryable: bool = False) -> None:
        raise OneGateError(method, path, self.endpoint, status, sentence, retryable)

    def get_vm(self) -> Vm:
        if self._call("GET", "/vm"):
            self._no_answer("GET", "/vm")
        return shown_vm(self._world.cloud.vms.get(self.vm_id))

    def get_vm_by_id(self, vm_id: int) -> Vm:
        path = f"/vms/{vm_id}"
        if self._call("GET", path, needs_oneflow=True):
            self._no_answer("GET", path)
        self._require_member("GET", path, vm_id)
        return shown_vm(self._world.cloud.vms.get(vm_id))

    def get_service(self) -> Service:
        if self._call("GET", "/service", needs_oneflow=True):
            self._no_answer("GET", "/service")
        self._require_member("GET", "/service", self.vm_id)
        return shown_service(self._world.service, self._world.unlisted)

    def put_vm(self, attributes) -> None:
        self._put("/vm", self.vm_id, attributes, needs_oneflow=False)

    def put_vm_by_id(self, vm_id: int, attributes) -> None:
        self._put(f"/vms/{vm_id}", vm_id, attributes, needs_oneflow=True)

    def _put(self, path: str, vm_id: int, attributes, needs_oneflow: bool) -> None:
        is_lost = self._call("PUT", path, needs_oneflow)
        if needs_oneflow:
            self._require_member("PUT", path, vm_id)
        vm = self._world.cloud.vms.get(vm_id)
        written = [(name, str(value)) for name, value in attributes.items()]
        text = "\n".join(f"{name}={value}" for name, value in written)
        self._world.cloud.vms._store(vm, user_template.merge(vm.user_template, written), text)
        self._world.monitor.publishes(self._host, vm_id, attributes)
        if str(attributes.get("OLDEST_IDLE", "0")) == "1":
            self._world.moment(AFTER_IDLE, self._host)
        if is_lost:
            self._no_answer("PUT", path)

    def put_cardinality(self, role_name: str, cardinality: int) -> None:
        path = f"/service/role/{role_name}"
        is_lost = self._call("PUT", path, needs_oneflow=True)
        self._world.monitor.pool_scales(self._host, role_name, cardinality)
        try:
            self._world.cloud.oneflow.scale(self._world.service_id, role_name, cardinality)
        except OneFlowError:
            said = f"Error performing action on service {self._world.service_id} role {role_name}"
            self._refuse("PUT", path, 400, said)
        if is_lost:
            self._no_answer("PUT", path)

    def terminate_vm(self, vm_id: int) -> None:
        path = f"/vms/{vm_id}/action"
        is_lost = self._call("POST", path, needs_oneflow=True)
        self._require_member("POST", path, vm_id)
        try:
            self._world.cloud.vms.terminate(self._world.cloud.vms.get(vm_id))
        except VmError:
            self._refuse("POST", path, 500, "Internal server error")
        self._world.monitor.pool_terminates(self._host, vm_id)
        if is_lost:
            self._no_answer("POST", path)

    def _require_member(self, method: str, path: str, vm_id: int) -> None:
        if vm_id not in self._world.service.node_ids():
            service_id = self._world.service_id
            self._refuse(method, path, 400, f"Service {service_id} does not contain VM {vm_id}.")


def shown_vm(vm: VirtualMachine) -> Vm:
    """A VM as the client has parsed it; as long as nothing has changed it is the same one."""
    key = (vm.state, vm.lcm_state, vm.user_template)
    kept = vm.__dict__.get("shown_to_guests")
    if kept is not None and kept[0][:2] == key[:2] and kept[0][2] is vm.user_template:
        return kept[1]
    shown = _shown_vm(vm)
    vm.__dict__["shown_to_guests"] = (key, shown)
    return shown


def _shown_vm(vm: VirtualMachine) -> Vm:
    return Vm(
        id=vm.id,
        name=vm.name,
        state=int(vm.state),
        lcm_state=int(vm.lcm_state) if vm.state == VmState.ACTIVE else 0,
        user_template={name: values[0] if len(values) == 1 else values for name, values in vm.user_template.items()},
        addresses=tuple(nic["IP"] for nic in vm.template.get("NIC", ())),
    )


def shown_service(service, unlisted: Collection[int] = ()) -> Service:
    """The service as the client has parsed it. ``unlisted``: VMs that OneFlow has lost from its lists."""
    roles = tuple(
        ServiceRole(
            name=role["name"],
            cardinality=role["cardinality"],
            state=int(role["state"]),
            nodes=tuple(
                ServiceNode(node["deploy_id"], "vm")
                for node in role.get("nodes") or ()
                if node["deploy_id"] not in unlisted
            ),
        )
        for role in service.roles
    )
    return Service(id=service.id, name="ondemand", state=int(service.state), roles=roles)
