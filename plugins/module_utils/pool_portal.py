# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal does about nodes of vanished VMs and about workers that stopped reporting. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Collection, Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_DEPLOYING,
    SERVICE_DEPLOYING_NETS,
    SERVICE_DONE,
    SERVICE_HOLD,
    SERVICE_PENDING,
    SERVICE_UNDEPLOYING,
    SERVICE_UNDEPLOYING_NETS,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import IncompleteReadingError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import OLDEST_IDLE, REPORT_TIME
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    GONE_REASON,
    one_line,
    vm_id_of_node,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import (
    PlaceholderChange,
    largest_registered,
    placeholder_changes,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import PortalMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# Two complete readings at this distance must both miss a VM before its node is touched.
SHORTEST_ABSENCE_SECONDS = 20
LONGEST_ABSENCE_SECONDS = 120
# A worker reports every 30 s; after three missed reports its OLDEST_IDLE may speak of another VM.
STALE_REPORT_SECONDS = 90

DELETE = "delete"
SET_DOWN = "down"

# While the service comes or goes, a missing VM means nothing.
_UNSETTLED_STATES = frozenset(
    [
        SERVICE_PENDING,
        SERVICE_DEPLOYING,
        SERVICE_DEPLOYING_NETS,
        SERVICE_UNDEPLOYING,
        SERVICE_UNDEPLOYING_NETS,
        SERVICE_DONE,
        SERVICE_HOLD,
    ]
)


@dataclass(frozen=True)
class PortalPolicy:
    """shapes: role to the shape that its placeholder must have, where the site names one."""

    node_prefix: str
    shapes: Mapping[str, WorkerShape]


@dataclass(frozen=True)
class PortalReading:
    """now: Unix seconds. slurm: with placeholders; None while slurmctld does not answer.

    worker_vms: VM id to VM of the listed workers that could be read. departed_vm_ids: of the VMs that were asked
    for singly, those that OneGate says are not in the service, or DONE.
    """

    now: int
    slurm: SlurmReading | None
    service: Service
    own_vm_id: int
    worker_vms: Mapping[int, Vm]
    departed_vm_ids: Collection[int] = frozenset()


@dataclass(frozen=True)
class NodeRemoval:
    """kind: DELETE, or SET_DOWN with a reason."""

    kind: str
    node_name: str
    reason: str = ""


@dataclass(frozen=True)
class SkippedNode:
    """A node whose VM is not in the service but which stays for now, and why."""

    node_name: str
    why: str


@dataclass(frozen=True)
class PortalDecision:
    """removals, placeholders: each to be carried out by itself. stale_vm_ids: workers whose OLDEST_IDLE is reset.

    other_nodes: nodes that are not ours, left alone; new_other_nodes: those not reported before.
    """

    removals: tuple[NodeRemoval, ...]
    skipped: tuple[SkippedNode, ...]
    placeholders: tuple[PlaceholderChange, ...]
    stale_vm_ids: tuple[int, ...]
    other_nodes: tuple[str, ...]
    new_other_nodes: tuple[str, ...]
    why: str
    memory: PortalMemory


def decide_portal(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> PortalDecision:
    """Decide about every node by itself.

    :raises IncompleteReadingError: the service does not list the portal's own VM.
    """
    if reading.service.role_of(reading.own_vm_id) is None:
        raise IncompleteReadingError(
            f"OneGate's service {reading.service.id} does not list this VM ({reading.own_vm_id}): nothing is decided."
        )
    stale = tuple(vm_id for vm_id in _worker_vm_ids(reading.service) if _is_stale(reading, vm_id))
    if reading.slurm is None:
        why = "slurmctld does not answer: no node is touched."
        return PortalDecision((), (), (), stale, (), (), why, memory)
    largest = largest_registered(reading.service, reading.slurm, policy.node_prefix, memory.largest_shapes)
    placeholders = placeholder_changes(reading.service, reading.slurm, policy.shapes, largest)
    other_nodes = tuple(
        node.name for node in reading.slurm.machines if vm_id_of_node(policy.node_prefix, node.name) is None
    )
    decision = PortalDecision(
        removals=(),
        skipped=(),
        placeholders=placeholders,
        stale_vm_ids=stale,
        other_nodes=other_nodes,
        new_other_nodes=tuple(name for name in other_nodes if name not in memory.other_nodes),
        why="",
        memory=replace(memory, largest_shapes=largest, other_nodes=other_nodes),
    )
    if reading.service.state in _UNSETTLED_STATES:
        why = f"The service is {reading.service.state_name}: no node is judged."
        return replace(decision, why=why, memory=replace(decision.memory, absent_at={}))
    verdicts = [_verdict(node, policy, reading, memory) for node in _absent_nodes(policy, reading)]
    return replace(
        decision,
        removals=tuple(verdict for verdict in verdicts if isinstance(verdict, NodeRemoval)),
        skipped=tuple(verdict for verdict in verdicts if isinstance(verdict, SkippedNode)),
        memory=replace(decision.memory, absent_at=_marks(policy, reading, memory)),
    )


def vm_ids_to_ask_for(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> tuple[int, ...]:
    """VMs whose departure must be confirmed singly before their nodes are set down under a job."""
    if reading.slurm is None or reading.service.state in _UNSETTLED_STATES:
        return ()
    ids = (
        vm_id_of_node(policy.node_prefix, node.name)
        for node in _absent_nodes(policy, reading)
        if _may_be_set_down(node, reading, memory)
    )
    return tuple(vm_id for vm_id in ids if vm_id is not None)


def _worker_vm_ids(service: Service) -> tuple[int, ...]:
    return tuple(vm_id for role in service.worker_roles() for vm_id in role.vm_ids)


def _absent_nodes(policy: PortalPolicy, reading: PortalReading) -> tuple[SlurmNode, ...]:
    """Nodes of ours whose VM no role of the service lists."""
    listed = {vm_id for role in reading.service.roles for vm_id in role.vm_ids}
    named = ((node, vm_id_of_node(policy.node_prefix, node.name)) for node in reading.slurm.machines)
    return tuple(node for node, vm_id in named if vm_id is not None and vm_id not in listed)


def _absence_seconds(node: SlurmNode, reading: PortalReading, memory: PortalMemory) -> int | None:
    """How long ago an earlier reading missed the VM too; None when none did within the time that counts."""
    marked_at = memory.absent_at.get(node.name)
    if marked_at is None or not 0 <= reading.now - marked_at <= LONGEST_ABSENCE_SECONDS:
        return None
    return reading.now - marked_at


def _is_confirmed(node: SlurmNode, reading: PortalReading, memory: PortalMemory) -> bool:
    absence_seconds = _absence_seconds(node, reading, memory)
    return absence_seconds is not None and absence_seconds >= SHORTEST_ABSENCE_SECONDS


def _marks(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> dict[str, int]:
    """The marks for the next tick: a mark that is too young to count stays, any other becomes this reading."""
    marks = {}
    for node in _absent_nodes(policy, reading):
        absence_seconds = _absence_seconds(node, reading, memory)
        is_young = absence_seconds is not None and absence_seconds < SHORTEST_ABSENCE_SECONDS
        marks[node.name] = memory.absent_at[node.name] if is_young else reading.now
    return marks


def _verdict(
    node: SlurmNode, policy: PortalPolicy, reading: PortalReading, memory: PortalMemory
) -> NodeRemoval | SkippedNode:
    if not _is_confirmed(node, reading, memory):
        return SkippedNode(node.name, "its VM is not in the service; waiting for a second reading")
    live_jobs = reading.slurm.live_jobs_on(node.name)
    if live_jobs:
        return _verdict_on_busy(node, live_jobs, policy, reading, memory)
    if not node.is_gone_for_slurm and not _address_is_taken(node, policy, reading):
        return SkippedNode(node.name, f"its VM is not in the service, but the node still responds ({node.state})")
    asking = reading.slurm.pending_jobs_naming(node.name)
    if asking:
        return SkippedNode(node.name, f"job {_numbers(asking)} asks for this node by name (-w): cancel or update it")
    return NodeRemoval(DELETE, node.name)


def _verdict_on_busy(
    node: SlurmNode,
    live_jobs: tuple[SlurmJob, ...],
    policy: PortalPolicy,
    reading: PortalReading,
    memory: PortalMemory,
) -> NodeRemoval | SkippedNode:
    """A node with jobs is never deleted; once its machine is surely gone its jobs are ended by setting it down.

    Deleting a node that holds only a suspended job would crash slurmctld 22.05.
    """
    jobs = f"job {_numbers(live_jobs)} ({', '.join(sorted({job.state for job in live_jobs}))})"
    if not node.is_gone_for_slurm:
        return SkippedNode(node.name, f"its VM is not in the service, but the node responds and holds {jobs}")
    if not _may_be_set_down(node, reading, memory):
        return SkippedNode(node.name, f"it was set down and still holds {jobs}")
    if vm_id_of_node(policy.node_prefix, node.name) not in reading.departed_vm_ids:
        return SkippedNode(node.name, f"it holds {jobs} and OneGate has not confirmed that the VM is gone")
    # A person's reason stays: scontrol wants one for this, so the present text is given again.
    return NodeRemoval(SET_DOWN, node.name, one_line(node.reason) if _has_a_persons_reason(node) else GONE_REASON)


def _may_be_set_down(node: SlurmNode, reading: PortalReading, memory: PortalMemory) -> bool:
    return (
        _is_confirmed(node, reading, memory)
        and node.is_gone_for_slurm
        and bool(reading.slurm.live_jobs_on(node.name))
        and not (node.base_state == "DOWN" and _has_a_persons_reason(node))
    )


def _has_a_persons_reason(node: SlurmNode) -> bool:
    """A reason that slurmctld did not write itself ("Not responding")."""
    return bool(node.reason) and node.reason_user != "slurm"


def _address_is_taken(node: SlurmNode, policy: PortalPolicy, reading: PortalReading) -> bool:
    """Another listed worker has the node's address, so what answers there is not the vanished VM."""
    own_id = vm_id_of_node(policy.node_prefix, node.name)
    return bool(node.address) and any(
        vm_id != own_id and vm.is_running and node.address in vm.addresses for vm_id, vm in reading.worker_vms.items()
    )


def _is_stale(reading: PortalReading, vm_id: int) -> bool:
    """The worker stands in OneFlow's mean with OLDEST_IDLE above 0 but has not reported for too long."""
    vm = reading.worker_vms.get(vm_id)
    if vm is None or _number(vm.user_template.get(OLDEST_IDLE)) <= 0:
        return False
    return reading.now - _number(vm.user_template.get(REPORT_TIME)) > STALE_REPORT_SECONDS


def _number(value: object) -> float:
    """A published figure; 0 for anything else, as OneFlow reads it."""
    try:
        return float(value) if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0


def _numbers(jobs: Collection[SlurmJob]) -> str:
    return ", ".join(str(job.job_id) for job in jobs)
