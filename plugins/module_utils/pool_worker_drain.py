# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What keeps an untouched worker from being drained. Pure."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS, one_line
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import WorkerPolicy, WorkerReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


def obstacle_to_drain(
    policy: WorkerPolicy,
    reading: WorkerReading,
    view: RoleView,
    pending: PendingCount,
    node: SlurmNode,
    memory: WorkerMemory,
) -> str:
    """The first thing that keeps an untouched node from being drained, "" when there is none."""
    idle_seconds = reading.now - (memory.idle_since if memory.idle_since is not None else reading.now)
    pause_seconds = (memory.pause_until or 0) - reading.now
    obstacles = (
        (not node.is_idle, f"The node is {node.state}."),
        (bool(view.slurm.live_jobs_on(node.name)), "A job is on the node."),
        (view.oldest_name != node.name, f"Not the oldest worker of the role, which is {_oldest(view)}."),
        (pending.jobs > 0, f"{pending.jobs} jobs wait for a worker of this role."),
        (node.name in pending.asked_nodes, "A waiting job asks for this node."),
        (not reading.vm.is_running, "OpenNebula does not show this VM as running."),
        (not view.service.is_running, f"The service is {view.service.state_name}."),
        (view.is_shrinking, "OneFlow is removing a worker of the role."),
        (not view.is_above_minimum, f"The role has no more workers than must stay ({max(view.minimum, 1)})."),
        (idle_seconds < policy.idle_seconds, f"Idle for {idle_seconds} s of {policy.idle_seconds} s."),
        (pause_seconds > 0, f"An earlier drain ended by time: no new one for {pause_seconds} s."),
    )
    return next((sentence for holds, sentence in obstacles if holds), "")


def pinned_role(name: str) -> str:
    """A limit of the contract, in words: OneFlow removes the first of its list, whatever the others do."""
    return f"The role does not shrink until {name} is back in service or its VM is terminated: OneFlow removes it first"


def _oldest(view: RoleView) -> str:
    name = view.oldest_name or "not known"
    node = view.slurm.machine(name)
    if node is None:
        return f"{name}, not registered with slurmctld. {pinned_role(name)}"
    if not node.is_responding:
        return f"{name}, {node.state}. {pinned_role(name)}"
    if not node.is_untouched and not (node.has_drain_flag and node.reason in DRAIN_REASONS):
        return f"{name}, touched by {node.reason_user or 'someone'} ({one_line(node.reason)}). {pinned_role(name)}"
    return name
