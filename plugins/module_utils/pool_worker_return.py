# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether a worker that we drained returns to service, in two steps. Pure."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_FAILED_SCALING,
    SERVICE_WARNING,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import IDLE_REASON, RETURNING_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    BEGIN_RETURN,
    BY_FREEZE,
    BY_JOB,
    BY_MODE,
    BY_TIME,
    RETURN,
    RETURN_GRACE_SECONDS,
    NodeChange,
    WorkerPolicy,
    WorkerReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# The time of a boot. A service that is SCALING for longer does not become RUNNING by itself.
LONGEST_SCALING_SECONDS = 900

_FROZEN_STATES = frozenset([SERVICE_FAILED_SCALING, SERVICE_WARNING])


def decide_return(
    policy: WorkerPolicy,
    reading: WorkerReading,
    view: RoleView,
    pending: PendingCount,
    node: SlurmNode,
    memory: WorkerMemory,
) -> tuple[NodeChange | None, str, str]:
    """Return the change of a node that we drained (None for none), why, and the cause of the return."""
    obstacle = _obstacle(view, node)
    if obstacle:
        return None, obstacle, ""
    if node.reason == RETURNING_REASON:
        return _second_step(reading, node.name, memory)
    cause, why = _cause(policy, reading, pending, node, memory)
    change = NodeChange(BEGIN_RETURN, node.name, RETURNING_REASON) if cause else None
    return change, why, cause


def _obstacle(view: RoleView, node: SlurmNode) -> str:
    """What forbids touching a node that we drained, "" when nothing does."""
    if not node.can_return:
        return f"The node is {node.state}: it is not returned."
    if view.is_ending:
        return f"The service is {view.service.state_name}: the node stays drained."
    if view.is_shrinking:
        return "OneFlow is removing a worker of the role: the node stays drained."
    return ""


def _cause(
    policy: WorkerPolicy, reading: WorkerReading, pending: PendingCount, node: SlurmNode, memory: WorkerMemory
) -> tuple[str, str]:
    if node.reason != IDLE_REASON:
        return BY_MODE, f"Drained by the portal ({node.reason}), which no longer scales this pool: it is returned."
    if pending.wants(node.name):
        return BY_JOB, "A job waits that this node could serve: it is returned."
    if is_frozen(reading, memory):
        return BY_FREEZE, f"The service is {reading.service.state_name}, so OneFlow removes nothing: it is returned."
    if memory.drain_seconds >= policy.drain_seconds:
        return BY_TIME, f"OneFlow has not removed this worker within {policy.drain_seconds} s: it is returned."
    return "", f"Drained for {memory.drain_seconds} s of {policy.drain_seconds} s, waiting for OneFlow."


def is_frozen(reading: WorkerReading, memory: WorkerMemory) -> bool:
    """OneFlow scales nothing and will not by itself: a drained worker would be held for nothing."""
    scaling_seconds = 0 if memory.scaling_since is None else reading.now - memory.scaling_since
    return reading.service.state in _FROZEN_STATES or scaling_seconds > LONGEST_SCALING_SECONDS


def _second_step(reading: WorkerReading, own_name: str, memory: WorkerMemory) -> tuple[NodeChange | None, str, str]:
    """The last step of a return, once no reading of OneFlow can still remove this VM."""
    if memory.withdrawn_at is None:
        return None, "Returning: OLDEST_IDLE is withdrawn first.", memory.return_cause
    waited_seconds = reading.now - memory.withdrawn_at
    if waited_seconds < RETURN_GRACE_SECONDS:
        why = f"Returning: {waited_seconds} s of {RETURN_GRACE_SECONDS} s since OLDEST_IDLE was withdrawn."
        return None, why, memory.return_cause
    if not reading.vm.is_running:
        return None, "Returning: OpenNebula does not show this VM as running.", memory.return_cause
    return (
        NodeChange(RETURN, own_name, ""),
        "No reading of OneFlow can remove this worker any more.",
        memory.return_cause,
    )
