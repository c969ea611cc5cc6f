# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One tick of the portal: nodes of vanished VMs go, placeholders stay right, stale OLDEST_IDLE is reset."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import OLDEST_IDLE
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_memory_file import (
    read_memory_file,
    write_memory_file,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_onegate_read import has_departed, read_vms
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import REPLACE, PlaceholderChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import (
    DELETE,
    NodeRemoval,
    PortalDecision,
    PortalPolicy,
    PortalReading,
    SkippedNode,
    decide_portal,
    vm_ids_to_ask_for,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import portal_memory_from_json
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import parse_shapes
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import NodeBusyError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_read import read_slurm

CALL_SECONDS = 8.0
VMS_SECONDS = 8.0
VM_CALL_SECONDS = 4.0

ARGUMENTS = {
    **ONEGATE_ARGUMENTS,
    "timeout_seconds": {"type": "float", "default": 25.0},
    "node_prefix": {"type": "str", "required": True},
    "shapes": {"type": "str", "default": ""},
    "memory_path": {"type": "path", "default": "/var/lib/onehpc/pool_reconcile.json"},
}


def run(params: dict, check_mode: bool, now: Callable[[], float] = time.time) -> dict:
    """The tick. params: validated module parameters; now: the wall clock.

    Returns the module's result. Every node, placeholder and reset is carried out by itself; when one of them
    fails the others are still done, then OnehpcError names what failed.
    """
    deadline = Deadline(params["timeout_seconds"])
    policy = PortalPolicy(params["node_prefix"], parse_shapes(params["shapes"]))
    memory = portal_memory_from_json(read_memory_file(params["memory_path"]))
    slurm = SlurmClient(deadline)
    client = client_of({**params, "timeout_seconds": min(CALL_SECONDS, params["timeout_seconds"])})
    reading, unread = _read(client, slurm, deadline, int(now()))
    asked = read_vms(client, vm_ids_to_ask_for(policy, reading, memory), deadline)
    reading = replace(reading, departed_vm_ids=frozenset(id for id, answer in asked.items() if has_departed(answer)))
    decision = decide_portal(policy, reading, memory)
    work = _Work(slurm, client, reading)
    if not check_mode:
        work.carry_out(decision)
        write_memory_file(params["memory_path"], decision.memory.to_json())
        if work.failures:
            raise PoolError(" ".join(work.failures))
    return _result(reading, decision, work, unread)


def _read(
    client: OneGateClient, slurm: SlurmClient, deadline: Deadline, read_at: int
) -> tuple[PortalReading, list[int]]:
    """Everything but the VMs of which departure must be confirmed, and the listed workers that could not be read."""
    service = client.get_service()
    worker_ids = [vm_id for role in service.worker_roles() for vm_id in role.vm_ids]
    client.timeout_seconds = VM_CALL_SECONDS
    answers = read_vms(client, worker_ids, Deadline(min(VMS_SECONDS, deadline.remaining_seconds)))
    vms = {vm_id: answer for vm_id, answer in answers.items() if isinstance(answer, Vm)}
    reading = PortalReading(
        now=read_at,
        slurm=read_slurm(slurm, with_placeholders=True),
        service=service,
        own_vm_id=client.vm_id,
        worker_vms=vms,
    )
    return reading, [vm_id for vm_id in worker_ids if vm_id not in vms]


class _Work:
    """Carries a decision out, part by part. failures: sentences; busy: nodes that turned out to be in use."""

    def __init__(self, slurm: SlurmClient, client: OneGateClient, reading: PortalReading):
        self._slurm = slurm
        self._client = client
        self._reading = reading
        self.failures: list[str] = []
        self.postponed: list[SkippedNode] = []

    def carry_out(self, decision: PortalDecision) -> None:
        for vm_id in decision.stale_vm_ids:
            self._attempt(lambda vm_id=vm_id: self._client.put_vm_by_id(vm_id, {OLDEST_IDLE: 0}))
        for change in decision.placeholders:
            self._attempt(lambda change=change: self._make_placeholder(change))
        for removal in decision.removals:
            self._attempt(lambda removal=removal: self._remove(removal))

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except OnehpcError as error:
            self.failures.append(str(error))

    def _make_placeholder(self, change: PlaceholderChange) -> None:
        if change.kind == REPLACE:
            self._slurm.delete_node(change.name)
        shape = change.shape
        self._slurm.create_placeholder(change.name, shape.cpus, shape.memory_mib, sorted(shape.features), shape.gpus)

    def _remove(self, removal: NodeRemoval) -> None:
        """Remove a node that is still as it was read: a VM that has come back must not lose its node."""
        node = self._slurm.node(removal.node_name)
        read = self._reading.slurm.machine(removal.node_name)
        if node is None:
            return
        if read is None or (node.state, node.address) != (read.state, read.address):
            self.postponed.append(SkippedNode(removal.node_name, f"it is {node.state} by now"))
            return
        if removal.kind != DELETE:
            self._slurm.set_node_down(removal.node_name, removal.reason)
            return
        try:
            self._slurm.delete_node(removal.node_name)
        except NodeBusyError:
            self.postponed.append(SkippedNode(removal.node_name, "slurmctld says that a job still uses it"))


def _result(reading: PortalReading, decision: PortalDecision, work: _Work, unread: list[int]) -> dict:
    postponed = {skipped.node_name for skipped in work.postponed}
    removals = [removal for removal in decision.removals if removal.node_name not in postponed]
    deleted = [removal.node_name for removal in removals if removal.kind == DELETE]
    set_down = [removal.node_name for removal in removals if removal.kind != DELETE]
    placeholders = [
        {"name": change.name, "kind": change.kind, **_plain_shape(change)} for change in decision.placeholders
    ]
    before = {name: _state_before(reading, name) for name in [*deleted, *set_down]}
    before.update({change.name: _state_before(reading, change.name) for change in decision.placeholders})
    after = dict.fromkeys(deleted, "absent")
    after.update(dict.fromkeys(set_down, "DOWN"))
    after.update({change.name: f"FUTURE {_plain_shape(change)}" for change in decision.placeholders})
    return {
        "changed": bool(removals or placeholders or decision.stale_vm_ids),
        "deleted": deleted,
        "set_down": set_down,
        "kept": [{"node": s.node_name, "why": s.why} for s in [*decision.skipped, *work.postponed]],
        "placeholders": placeholders,
        "oldest_idle_reset": list(decision.stale_vm_ids),
        "other_nodes": list(decision.other_nodes),
        "unread_vms": unread,
        "controller_up": reading.slurm is not None,
        "service_state": reading.service.state_name,
        "why": _why(decision, unread),
        "diff": {"before": before, "after": after},
    }


def _why(decision: PortalDecision, unread: list[int]) -> str:
    sentences = [decision.why] if decision.why else []
    if decision.new_other_nodes:
        sentences.append(f"Nodes that are not this pool's are left alone: {', '.join(decision.new_other_nodes)}.")
    if unread:
        sentences.append(f"OneGate did not show VM {', '.join(str(vm_id) for vm_id in unread)}.")
    return " ".join(sentences) or "Every node of the pool was looked at."


def _plain_shape(change: PlaceholderChange) -> dict:
    shape = change.shape
    return {
        "cpus": shape.cpus,
        "memory_mib": shape.memory_mib,
        "gpus": shape.gpus,
        "features": sorted(shape.features),
    }


def _state_before(reading: PortalReading, name: str) -> str:
    node = reading.slurm.node(name) if reading.slurm else None
    return "absent" if node is None else node.state
