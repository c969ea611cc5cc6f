# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a worker publishes and whether it drains or returns: one reading in, one decision out.

Pure: no input or output, and no clock (the reading carries its time), so that a simulation runs the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import IncompleteReadingError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_idle_time import UNSEEN_SECONDS, idle_since
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    IDLE_REASON,
    RETURNING_REASON,
    node_name,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount, count_pending
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# OneFlow reads the published figures every autoscaler_interval (90 s by default) and acts on what it read, so a
# returning node takes jobs only when a reading made before the withdrawal can no longer remove its VM.
RETURN_GRACE_SECONDS = 150
LONGEST_PAUSE_SECONDS = 24 * 3600
SHORTEST_PAUSE_SECONDS = 60
# A gap between ticks does not count as drained time: OneFlow may have had no chance to act in it.
LONGEST_COUNTED_STEP_SECONDS = 90

DRAIN = "drain"
BEGIN_RETURN = "begin-return"
RETURN = "return"

BY_TIME = "time"
BY_JOB = "job"

_UNRETURNABLE_FLAGS = frozenset(["FAIL", "INVALID_REG", "NOT_RESPONDING"])


@dataclass(frozen=True)
class WorkerPolicy:
    """idle_seconds: without a job before the oldest worker drains. drain_seconds: how long it then waits to be
    removed. min_vms: workers of the role that stay; at least 1, since nobody would publish without any."""

    node_prefix: str
    idle_seconds: int
    drain_seconds: int
    min_vms: int


@dataclass(frozen=True)
class WorkerReading:
    """now: Unix seconds. slurm: None while slurmctld does not answer. vm: this worker's own."""

    now: int
    slurm: SlurmReading | None
    service: Service
    vm: Vm


@dataclass(frozen=True)
class NodeChange:
    """One change of this worker's node. kind: DRAIN, BEGIN_RETURN or RETURN; reason: the node's afterwards."""

    kind: str
    node_name: str
    reason: str


@dataclass(frozen=True)
class WorkerDecision:
    """pending, oldest_idle: the figures to publish. why: one sentence. memory: to keep if no change is made."""

    pending: int
    oldest_idle: int
    change: NodeChange | None
    why: str
    memory: WorkerMemory
    return_cause: str = ""


def decide_worker(policy: WorkerPolicy, reading: WorkerReading, memory: WorkerMemory) -> WorkerDecision:
    """Decide for the worker whose VM the reading names.

    :raises IncompleteReadingError: the service does not list this VM, or not in the role that the VM names.
    """
    _require_complete(reading)
    if reading.slurm is None:
        return _decision_without_controller(reading, memory)
    role = reading.service.role_of(reading.vm.id)
    view = RoleView(reading.service, role, reading.slurm, policy.node_prefix, policy.min_vms)
    shapes = view.shapes() or memory.shapes
    pending = count_pending(reading.slurm.jobs, shapes, bool(reading.slurm.machines))
    own_name = node_name(policy.node_prefix, reading.vm.id)
    node = reading.slurm.machine(own_name)
    kept = _remembered(replace(memory, shapes=shapes), reading, view, node)
    change, why, cause = _decide_change(policy, reading, view, pending, node, own_name, kept)
    return WorkerDecision(
        pending=pending.jobs,
        # A node that begins to return still carries the old reason in this reading.
        oldest_idle=int(change is None and view.oldest_may_go(pending)),
        change=change,
        why=why,
        memory=kept,
        return_cause=cause,
    )


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
    base = max(memory.pause_seconds, policy.idle_seconds, SHORTEST_PAUSE_SECONDS)
    pause_seconds = min(2 * base, LONGEST_PAUSE_SECONDS)
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
    """Neutral figures. Nothing can end unseen while slurmctld is away, so this closes no gap of memory either."""
    if memory.updated_at is not None and reading.now - memory.updated_at <= UNSEEN_SECONDS:
        memory = replace(memory, updated_at=reading.now)
    why = "slurmctld does not answer, so nothing is known about jobs: the figures are 0 and nothing is changed."
    return WorkerDecision(0, 0, None, why, replace(memory, drain_counted_until=None))


def _remembered(memory: WorkerMemory, reading: WorkerReading, view: RoleView, node: SlurmNode | None) -> WorkerMemory:
    """The memory brought up to date with the reading."""
    if node is not None:
        memory = replace(memory, idle_since=idle_since(reading.now, node, reading.slurm, memory))
    if memory.pause_cardinality is not None and memory.pause_cardinality != view.role.cardinality:
        memory = replace(memory, pause_seconds=0, pause_until=None, pause_cardinality=None)
    if node is None or not node.has_drain_flag or node.reason not in (IDLE_REASON, RETURNING_REASON):
        memory = memory.forgetting_drain()
    elif node.reason == IDLE_REASON:
        memory = _drain_counted(replace(memory, is_drained_by_us=True, withdrawn_at=None), reading)
    else:
        memory = replace(memory, is_drained_by_us=True, drain_counted_until=None)
    return replace(memory, updated_at=reading.now)


def _drain_counted(memory: WorkerMemory, reading: WorkerReading) -> WorkerMemory:
    """Let the drain's clock go on: it counts only while the service is RUNNING, when OneFlow can act."""
    if not reading.service.is_running:
        return replace(memory, drain_counted_until=None)
    step = 0
    if memory.drain_counted_until is not None:
        step = min(max(0, reading.now - memory.drain_counted_until), LONGEST_COUNTED_STEP_SECONDS)
    return replace(memory, drain_seconds=memory.drain_seconds + step, drain_counted_until=reading.now)


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
    if node.is_untouched:
        obstacle = _obstacle_to_drain(policy, reading, view, pending, node, memory)
        if obstacle:
            return None, obstacle, ""
        why = f"Idle for {reading.now - (memory.idle_since or 0)} s and nothing waits: OneFlow may remove the worker."
        return NodeChange(DRAIN, own_name, IDLE_REASON), why, ""
    if not node.has_drain_flag or node.reason not in (IDLE_REASON, RETURNING_REASON):
        return None, f"Node {own_name} was touched by {node.reason_user or 'someone'} ({node.reason}): left alone.", ""
    obstacle = _obstacle_to_return(view, node)
    if obstacle:
        return None, obstacle, ""
    if node.reason == IDLE_REASON:
        cause, why = _cause_of_return(policy, pending, node, memory)
        change = NodeChange(BEGIN_RETURN, own_name, RETURNING_REASON) if cause else None
        return change, why, cause
    return _decide_return(reading, own_name, memory)


def _obstacle_to_drain(
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
        (view.oldest_name != node.name, f"Not the oldest worker of the role (that is {view.oldest_name})."),
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


def _obstacle_to_return(view: RoleView, node: SlurmNode) -> str:
    """What forbids touching a node that we drained, "" when nothing does."""
    if node.base_state == "DOWN" or node.flags & _UNRETURNABLE_FLAGS:
        return f"The node is {node.state}: it is not returned."
    if view.is_ending:
        return f"The service is {view.service.state_name}: the node stays drained."
    if view.is_shrinking:
        return "OneFlow is removing a worker of the role: the node stays drained."
    return ""


def _cause_of_return(
    policy: WorkerPolicy, pending: PendingCount, node: SlurmNode, memory: WorkerMemory
) -> tuple[str, str]:
    if pending.wants(node.name):
        return BY_JOB, "A job waits that this node could serve: it is returned."
    if memory.drain_seconds >= policy.drain_seconds:
        return BY_TIME, f"OneFlow has not removed this worker within {policy.drain_seconds} s: it is returned."
    return "", f"Drained for {memory.drain_seconds} s of {policy.drain_seconds} s, waiting for OneFlow."


def _decide_return(reading: WorkerReading, own_name: str, memory: WorkerMemory) -> tuple[NodeChange | None, str, str]:
    """The last step of a return, once no reading of OneFlow can still remove this VM."""
    if memory.withdrawn_at is None:
        return None, "Returning: OLDEST_IDLE is withdrawn first.", memory.return_cause
    waited_seconds = reading.now - memory.withdrawn_at
    if waited_seconds < RETURN_GRACE_SECONDS:
        why = f"Returning: {waited_seconds} s of {RETURN_GRACE_SECONDS} s since OLDEST_IDLE was withdrawn."
        return None, why, memory.return_cause
    if not reading.vm.is_running:
        return None, "Returning: OpenNebula does not show this VM as running.", memory.return_cause
    return NodeChange(RETURN, own_name, ""), "Returned to service.", memory.return_cause
