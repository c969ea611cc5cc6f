# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which nodes of vanished VMs are deleted or set down, each judged by itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    GONE_REASON,
    one_line,
    vm_id_of_node,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import PortalMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# Two complete readings at this distance must both miss a VM before its node is touched.
SHORTEST_ABSENCE_SECONDS = 20
LONGEST_ABSENCE_SECONDS = 120

DELETE = "delete"
SET_DOWN = "down"


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


def absent_nodes(policy: PortalPolicy, reading: PortalReading) -> tuple[SlurmNode, ...]:
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


def marks_of(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> dict[str, int]:
    """The marks for the next tick: a mark that is too young to count stays, any other becomes this reading."""
    marks = {}
    for node in absent_nodes(policy, reading):
        absence_seconds = _absence_seconds(node, reading, memory)
        is_young = absence_seconds is not None and absence_seconds < SHORTEST_ABSENCE_SECONDS
        marks[node.name] = memory.absent_at[node.name] if is_young else reading.now
    return marks


def verdict(
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
    if not may_be_set_down(node, reading, memory):
        return SkippedNode(node.name, f"it was set down and still holds {jobs}")
    if vm_id_of_node(policy.node_prefix, node.name) not in reading.departed_vm_ids:
        return SkippedNode(node.name, f"it holds {jobs} and OneGate has not confirmed that the VM is gone")
    # A person's reason stays: scontrol wants one for this, so the present text is given again.
    present = one_line(node.reason) if _has_a_persons_reason(node) else ""
    return NodeRemoval(SET_DOWN, node.name, present or GONE_REASON)


def may_be_set_down(node: SlurmNode, reading: PortalReading, memory: PortalMemory) -> bool:
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


def _numbers(jobs: Collection[SlurmJob]) -> str:
    return ", ".join(str(job.job_id) for job in jobs)
