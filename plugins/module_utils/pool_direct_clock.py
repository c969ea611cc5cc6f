# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal remembers of the workers it scales, brought up to date with a reading. Pure."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectMemory,
    DirectNode,
    DirectRole,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import POLICIES_REASONS
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_idle_time import UNSEEN_SECONDS, idle_since
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DIRECT_IDLE_REASON,
    node_name,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_stale import says_oldest_idle
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_clock import LONGEST_COUNTED_STEP_SECONDS
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


def nodes_up_to_date(policy: PortalPolicy, reading: PortalReading, memory: DirectMemory) -> dict[str, DirectNode]:
    """Every listed worker; those that are not listed any more are forgotten."""
    ids = (vm_id for role in reading.service.worker_roles() for vm_id in role.vm_ids)
    names = {node_name(policy.node_prefix, vm_id): vm_id for vm_id in ids}
    return {name: _node(reading, memory.nodes.get(name, DirectNode()), name, vm_id) for name, vm_id in names.items()}


def nodes_without_controller(reading: PortalReading, memory: DirectMemory) -> dict[str, DirectNode]:
    """Nothing can end unseen while slurmctld is away, so this closes no gap of memory.

    That a drained node is empty must be seen anew.
    """
    return {
        name: replace(
            node,
            updated_at=reading.now if _is_fresh(node, reading.now) else node.updated_at,
            empty_since=None,
            drain_counted_until=None,
        )
        for name, node in memory.nodes.items()
    }


def role_up_to_date(view: RoleView, reading: PortalReading, memory: DirectRole) -> DirectRole:
    """A change of the cardinality ends a pause, the belief that the role is full, and the wait for OneFlow's refill."""
    cardinality = view.role.cardinality
    if memory.pause_cardinality is not None and memory.pause_cardinality != cardinality:
        memory = replace(memory, pause_seconds=0, pause_until=None, pause_cardinality=None)
    if memory.refused_cardinality is not None and memory.refused_cardinality != cardinality:
        memory = replace(memory, largest_rise=None, refused_cardinality=None)
    is_below = cardinality < max(view.minimum, 1)
    below_since = reading.now if memory.below_minimum_since is None else memory.below_minimum_since
    memory = replace(memory, below_minimum_since=below_since if is_below else None)
    if memory.policies_seen_at is None or _policies_are_seen(view, reading):
        memory = replace(memory, policies_seen_at=reading.now)
    return memory


def _policies_are_seen(view: RoleView, reading: PortalReading) -> bool:
    """A worker publishes OLDEST_IDLE (or was not read), or a node still bears the drain of the other mode."""
    return any(
        vm_id not in reading.worker_vms or says_oldest_idle(reading, vm_id) for vm_id in view.role.vm_ids
    ) or any(node.has_drain_flag and node.reason in POLICIES_REASONS for node in view.registered)


def _node(reading: PortalReading, memory: DirectNode, name: str, vm_id: int) -> DirectNode:
    memory = _ready(reading, memory, vm_id)
    node = reading.slurm.machine(name)
    if node is None:
        since = reading.now if memory.without_node_since is None else memory.without_node_since
        memory = replace(memory, without_node_since=since)
        return replace(memory, is_drained_by_us=False, empty_since=None, drain_seconds=0, drain_counted_until=None)
    memory = replace(memory, without_node_since=None)
    memory = replace(memory, idle_since=idle_since(reading.now, node, reading.slurm, memory))
    if node.has_drain_flag and node.reason == DIRECT_IDLE_REASON:
        memory = _drained(reading, memory, node)
    else:
        memory = replace(memory, is_drained_by_us=False, empty_since=None, drain_seconds=0, drain_counted_until=None)
    return replace(memory, updated_at=reading.now)


def _ready(reading: PortalReading, memory: DirectNode, vm_id: int) -> DirectNode:
    vm = reading.worker_vms.get(vm_id)
    if vm is None or memory.was_ready:
        return memory
    if vm.user_template.get("READY") == "YES":
        return replace(memory, was_ready=True, unready_since=None)
    return replace(memory, unready_since=reading.now if memory.unready_since is None else memory.unready_since)


def _drained(reading: PortalReading, memory: DirectNode, node: SlurmNode) -> DirectNode:
    is_empty = node.base_state == "IDLE" and node.is_responding and not reading.slurm.live_jobs_on(node.name)
    empty_since = (memory.empty_since if _is_fresh(memory, reading.now) else None) or reading.now
    step = 0
    if reading.service.is_running and memory.drain_counted_until is not None:
        step = min(max(0, reading.now - memory.drain_counted_until), LONGEST_COUNTED_STEP_SECONDS)
    return replace(
        memory,
        is_drained_by_us=True,
        empty_since=empty_since if is_empty else None,
        drain_seconds=memory.drain_seconds + step,
        drain_counted_until=reading.now if reading.service.is_running else None,
    )


def _is_fresh(memory: DirectNode, now: int) -> bool:
    return memory.updated_at is not None and 0 <= now - memory.updated_at <= UNSEEN_SECONDS
