# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which worker the portal has terminated: one that is drained and empty, or one that never came up. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import SERVICE_RUNNING, SERVICE_SCALING
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import DirectView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DIRECT_IDLE_REASON,
    node_name,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

BOOT_DEADLINE_SECONDS = 900


@dataclass(frozen=True)
class Termination:
    """One VM to be terminated. is_drained: its node is drained by us; otherwise it has none that responds."""

    vm_id: int
    node_name: str
    is_drained: bool
    why: str

    def still_holds(self, node: SlurmNode | None) -> bool:
        """The node, read once more, is still what the decision was based on."""
        if not self.is_drained:
            return node is None or not node.is_responding
        return (
            node is not None
            and node.has_drain_flag
            and node.reason == DIRECT_IDLE_REASON
            and node.base_state == "IDLE"
            and node.is_responding
            and "COMPLETING" not in node.flags
        )


def termination(role: DirectView) -> Termination | None:
    """At most one for the role, in OneFlow's order."""
    found = [*_late(role), *([] if obstacle_to_terminates(role) else _drained(role))]
    return found[0] if found and role.may_terminate else None


def obstacle_to_terminates(role: DirectView) -> str:
    """What keeps every drained worker of the role from being terminated, "" when nothing does."""
    obstacles = (
        *role.obstacles_to_shrinking,
        (len(role.in_service) < role.minimum, "fewer workers than the minimum are in service"),
    )
    return next((sentence for holds, sentence in obstacles if holds), "")


def _drained(role: DirectView) -> list[Termination]:
    return [
        Termination(vm_id, node.name, True, "drained and empty in two readings")
        for vm_id, node in _listed(role)
        if node is not None
        and node.has_drain_flag
        and node.reason == DIRECT_IDLE_REASON
        and role.is_empty(node)
        and _was_empty_before(role, node)
        and not role.pending.wants(node.name)
        and role.runs(node.name)
        and role.nodes[node.name].asked_at is None
    ]


def _was_empty_before(role: DirectView, node: SlurmNode) -> bool:
    empty_since = role.nodes[node.name].empty_since
    return empty_since is not None and empty_since < role.now


def _late(role: DirectView) -> list[Termination]:
    """A worker that never says READY holds the service in SCALING for ever; ended, it lets OneFlow go on."""
    if role.view.service.state not in (SERVICE_RUNNING, SERVICE_SCALING) or not role.is_quiet:
        return []
    return [
        Termination(vm_id, name, False, f"not READY within {BOOT_DEADLINE_SECONDS} s")
        for vm_id in role.view.role.vm_ids
        for name in [node_name(role.policy.node_prefix, vm_id)]
        if _is_late(role, name)
    ]


def _is_late(role: DirectView, name: str) -> bool:
    memory = role.nodes[name]
    node = role.view.slurm.machine(name)
    return (
        memory.unready_since is not None
        and role.now - memory.unready_since >= BOOT_DEADLINE_SECONDS
        and memory.asked_at is None
        and role.runs(name)
        and (node is None or not node.is_responding)
        and not role.view.slurm.live_jobs_on(name)
        and name not in role.pending.asked_nodes
    )


def _listed(role: DirectView) -> list[tuple[int, SlurmNode | None]]:
    names = ((vm_id, node_name(role.policy.node_prefix, vm_id)) for vm_id in role.view.role.vm_ids)
    return [(vm_id, role.view.slurm.machine(name)) for vm_id, name in names]
