# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How many workers the portal asks OneFlow for. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Collection

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    VM_LCM_FAILURES,
    VM_LCM_UNKNOWN,
    VM_STATE_ACTIVE,
    VM_STATE_POWEROFF,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_terminate import BOOT_DEADLINE_SECONDS
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import DirectView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import node_name
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_wanted import wanted_workers
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# OneFlow itself fills up a role below min_vms, to one more than the cardinality that it read. What the portal adds
# between its reading and its act would be too many for it, and it would remove the oldest worker. So it comes first:
# two readings at 90 s, and a minute to act.
REFILL_SECONDS = 240


@dataclass(frozen=True)
class Growth:
    """A larger cardinality for a role, in one step. cardinality_before: as read, always below cardinality."""

    role_name: str
    cardinality_before: int
    cardinality: int


def growth(role: DirectView, shapes: Collection[WorkerShape], returned: Collection[str]) -> Growth | None:
    """What the waiting jobs need beyond the workers that are there, within what OneFlow has not refused.

    returned: nodes that come back to service in this very tick.
    """
    if role.is_frozen or not role.view.service.is_running or not role.may_grow or _is_being_refilled(role):
        return None
    before = role.view.role.cardinality
    rise = wanted_workers(_soon(role, returned), tuple(shapes), role.now)
    if role.role.largest_rise is not None:
        rise = min(rise, role.role.largest_rise)
    if role.policy.max_vms > 0:
        rise = min(rise, role.policy.max_vms - before)
    return Growth(role.view.role.name, before, before + rise) if rise > 0 else None


def _is_being_refilled(role: DirectView) -> bool:
    since = role.role.below_minimum_since
    return since is not None and 0 <= role.now - since < REFILL_SECONDS


def _soon(role: DirectView, returned: Collection[str]) -> RoleView:
    """The role without the VMs that are being terminated or will not boot, with the returned nodes in service."""
    leaving = {name for name, node in role.nodes.items() if node.asked_at is not None and name not in returned}
    leaving.update(name for name in role.nodes if _will_not_boot(role, name))
    listed = role.view.role
    nodes = tuple(node for node in listed.nodes if node_name(role.policy.node_prefix, node.vm_id) not in leaving)
    cardinality = listed.cardinality - (len(listed.nodes) - len(nodes))
    slurm = role.view.slurm
    soon = tuple(_in_service(node, role.now) if node.name in returned else node for node in slurm.nodes)
    return replace(
        role.view,
        role=replace(listed, nodes=nodes, cardinality=max(0, cardinality)),
        slurm=SlurmReading(soon, slurm.jobs),
    )


def _will_not_boot(role: DirectView, name: str) -> bool:
    """It has no node, and its VM or its boot does not come to one by itself: it is no worker on its way."""
    vm = role.vm_of(name)
    if vm is None or role.view.slurm.machine(name) is not None:
        return False
    since = role.nodes[name].without_node_since
    if since is not None and role.now - since >= BOOT_DEADLINE_SECONDS:
        return True
    has_failed = vm.state == VM_STATE_ACTIVE and vm.lcm_state in {*VM_LCM_FAILURES, VM_LCM_UNKNOWN}
    return has_failed or vm.state == VM_STATE_POWEROFF


def _in_service(node: SlurmNode, now: int) -> SlurmNode:
    """The node as it will be: slurmctld takes the end of a drain for the last time that it was busy."""
    return replace(node, flags=node.flags - {"DRAIN"}, reason="", reason_user="", reason_time=None, last_busy_time=now)
