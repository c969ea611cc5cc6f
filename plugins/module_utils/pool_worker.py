# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a worker publishes and whether it drains or returns: one reading in, one decision out.

Pure: no input or output, and no clock (the reading carries its time), so that a simulation runs the same code.
"""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import IncompleteReadingError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import WorkerFigures
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DRAIN_REASONS,
    IDLE_REASON,
    RETURNING_REASON,
    node_name,
    one_line,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount, count_pending
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import DIRECT
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_sessions import (
    node_counts,
    session_users,
    sessions_on,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_wanted import wanted_workers
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_clock import (
    up_to_date,
    up_to_date_without_controller,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_drain import obstacle_to_drain, pinned_role
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_line import seen_in, seen_without_controller
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    BEGIN_RETURN,
    BY_TIME,
    DRAIN,
    NodeChange,
    WorkerDecision,
    WorkerPolicy,
    WorkerReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_return import decide_return
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

LONGEST_PAUSE_SECONDS = 24 * 3600
SHORTEST_PAUSE_SECONDS = 60


def decide_worker(policy: WorkerPolicy, reading: WorkerReading, memory: WorkerMemory) -> WorkerDecision:
    """Decide for the worker whose VM the reading names.

    :raises IncompleteReadingError: the service does not list this VM, or not in the role that the VM names.
    """
    _require_complete(reading)
    if reading.slurm is None:
        return _decision_without_controller(reading, memory)
    role = reading.service.role_of(reading.vm.id)
    view = RoleView(reading.service, role, reading.slurm, policy.node_prefix, policy.min_vms, policy.max_vms)
    shapes = view.shapes() or memory.shapes
    pending = count_pending(reading.slurm.jobs, shapes, view.pool_size)
    own_name = node_name(policy.node_prefix, reading.vm.id)
    node = reading.slurm.machine(own_name)
    kept = up_to_date(replace(memory, shapes=shapes), policy, reading, view, node)
    change, why, cause = _decide_change(policy, reading, view, pending, node, own_name, kept)
    # A node that begins to return still carries the old reason in this reading.
    oldest_idle = change is None and policy.scaling != DIRECT and view.oldest_may_go(pending)
    figures = _figures(policy, reading, view, pending, own_name, kept, oldest_idle)
    return WorkerDecision(
        figures=figures,
        change=change,
        seen=seen_in(policy, reading, view, pending, figures),
        why=why,
        memory=kept,
        return_cause=cause,
    )


def longer_pause_seconds(pause_seconds: int, idle_seconds: int) -> int:
    """The pause before a role's next drain after one that ended by time; pause_seconds: the last one, 0 for none."""
    return min(2 * max(pause_seconds, idle_seconds, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


def memory_after_change(decision: WorkerDecision, policy: WorkerPolicy, reading: WorkerReading) -> WorkerMemory:
    """The memory to keep once the decided change has been made."""
    memory = decision.memory
    if decision.change is None or decision.change.kind == DRAIN:
        return memory  # a drain's clock starts when a reading shows it
    if decision.change.kind == BEGIN_RETURN:
        return replace(memory, return_cause=decision.return_cause, withdrawn_at=None)
    returned = replace(memory.forgetting_drain(), idle_since=reading.now)
    if memory.return_cause != BY_TIME:
        return returned
    pause_seconds = longer_pause_seconds(memory.pause_seconds, policy.idle_seconds)
    role = reading.service.role_of(reading.vm.id)
    return replace(
        returned,
        pause_seconds=pause_seconds,
        pause_until=reading.now + pause_seconds,
        pause_cardinality=role.cardinality if role else None,
    )


def memory_after_publication(
    memory: WorkerMemory, is_returning: bool, oldest_idle: int, answered_at: int
) -> WorkerMemory:
    """The memory once OneGate has taken the figures: a return's grace counts from the first OLDEST_IDLE=0."""
    if is_returning and oldest_idle == 0 and memory.withdrawn_at is None:
        return replace(memory, withdrawn_at=answered_at)
    return memory


def is_returning(decision: WorkerDecision, change_was_made: bool, reading: WorkerReading) -> bool:
    """The worker's own node carries the returning reason after this tick's change."""
    if decision.change is not None and change_was_made:
        return decision.change.kind == BEGIN_RETURN
    node = reading.slurm.machine(decision.memory.node_name) if reading.slurm else None
    return node is not None and node.has_drain_flag and node.reason == RETURNING_REASON


def _require_complete(reading: WorkerReading) -> None:
    role = reading.service.role_of(reading.vm.id)
    if role is None:
        raise IncompleteReadingError(
            f"OneGate's service {reading.service.id} does not list this VM ({reading.vm.id}): nothing is decided."
        )
    if reading.vm.role_name is not None and reading.vm.role_name != role.name:
        raise IncompleteReadingError(
            f"VM {reading.vm.id} says that its role is {reading.vm.role_name}, the service lists it under {role.name}."
        )


def _decision_without_controller(reading: WorkerReading, memory: WorkerMemory) -> WorkerDecision:
    """OneFlow is told to do nothing; what is not known is left as it was published last."""
    return WorkerDecision(
        figures=WorkerFigures(slurm_pending=0, oldest_idle=0, slurm_wanted=0, healthy=int(reading.health.is_healthy)),
        change=None,
        seen=seen_without_controller(reading),
        why="Nothing is known about jobs, so SLURM_PENDING, SLURM_WANTED and OLDEST_IDLE are 0.",
        memory=up_to_date_without_controller(memory, reading),
    )


def _figures(
    policy: WorkerPolicy,
    reading: WorkerReading,
    view: RoleView,
    pending: PendingCount,
    own_name: str,
    memory: WorkerMemory,
    oldest_idle: bool,
) -> WorkerFigures:
    sessions = sessions_on(view.slurm, own_name)
    idle_nodes, alloc_nodes = node_counts(view.slurm)
    return WorkerFigures(
        slurm_pending=0 if policy.scaling == DIRECT else pending.jobs,
        oldest_idle=int(oldest_idle),
        slurm_wanted=wanted_workers(view, memory.shapes, reading.now),
        healthy=int(reading.health.is_healthy),
        active_sessions=len(sessions),
        idle_seconds=0 if memory.idle_since is None else reading.now - memory.idle_since,
        slurm_idle_nodes=idle_nodes,
        slurm_alloc_nodes=alloc_nodes,
        session_users=session_users(sessions),
    )


def _decide_change(
    policy: WorkerPolicy,
    reading: WorkerReading,
    view: RoleView,
    pending: PendingCount,
    node: SlurmNode | None,
    own_name: str,
    memory: WorkerMemory,
) -> tuple[NodeChange | None, str, str]:
    """Return the change (None for none), the sentence that explains it, and the cause of a return."""
    if node is None:
        return None, f"Node {own_name} is not registered with slurmctld: restart slurmd if this stays so.", ""
    is_our_drain = node.has_drain_flag and node.reason in DRAIN_REASONS
    if not node.is_untouched and not is_our_drain:
        why = f"Node {own_name} was touched by {node.reason_user or 'someone'} ({one_line(node.reason)}): left alone."
        return None, f"{why} {pinned_role(own_name)}." if view.oldest_name == own_name else why, ""
    if policy.scaling == DIRECT:
        return (
            None,
            "The portal scales this pool (direct)"
            + (f" and ends this drain ({node.reason})." if is_our_drain else "."),
            "",
        )
    if is_our_drain:
        return decide_return(policy, reading, view, pending, node, memory)
    obstacle = obstacle_to_drain(policy, reading, view, pending, node, memory)
    if obstacle:
        return None, obstacle, ""
    return NodeChange(DRAIN, own_name, IDLE_REASON), "Nothing waits: OneFlow may remove the worker.", ""
