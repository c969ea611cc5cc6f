# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A worker's memory brought up to date with a reading: since when it is idle, drained, frozen. Pure."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import SERVICE_SCALING
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_idle_time import UNSEEN_SECONDS, idle_since
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DRAIN_REASONS,
    IDLE_REASON,
    RETURNING_REASON,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import DIRECT
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import WorkerPolicy, WorkerReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# A gap between ticks does not count as drained time: OneFlow may have had no chance to act in it.
LONGEST_COUNTED_STEP_SECONDS = 90


def up_to_date(
    memory: WorkerMemory, policy: WorkerPolicy, reading: WorkerReading, view: RoleView, node: SlurmNode | None
) -> WorkerMemory:
    """The memory with all that this reading shows."""
    if node is not None:
        memory = replace(memory, idle_since=idle_since(reading.now, node, reading.slurm, memory))
    if memory.pause_cardinality is not None and memory.pause_cardinality != view.role.cardinality:
        memory = replace(memory, pause_seconds=0, pause_until=None, pause_cardinality=None)
    if node is None or not node.has_drain_flag or node.reason not in DRAIN_REASONS:
        memory = memory.forgetting_drain()
    elif policy.scaling == DIRECT or node.reason not in (IDLE_REASON, RETURNING_REASON):
        memory = replace(memory.forgetting_drain(), is_drained_by_us=True)
    elif node.reason == IDLE_REASON:
        memory = _drain_counted(replace(memory, is_drained_by_us=True, withdrawn_at=None), reading)
    else:
        memory = replace(memory, is_drained_by_us=True, drain_counted_until=None)
    return replace(memory, updated_at=reading.now, scaling_since=_scaling_since(memory, reading.now, reading.service))


def up_to_date_without_controller(memory: WorkerMemory, reading: WorkerReading) -> WorkerMemory:
    """Nothing can end unseen while slurmctld is away, so this closes no gap of memory."""
    if memory.updated_at is not None and reading.now - memory.updated_at <= UNSEEN_SECONDS:
        memory = replace(memory, updated_at=reading.now)
    since = _scaling_since(memory, reading.now, reading.service)
    return replace(memory, drain_counted_until=None, scaling_since=since)


def _scaling_since(memory: WorkerMemory, now: int, service: Service) -> int | None:
    if service.state != SERVICE_SCALING:
        return None
    return now if memory.scaling_since is None else memory.scaling_since


def _drain_counted(memory: WorkerMemory, reading: WorkerReading) -> WorkerMemory:
    """Let the drain's clock go on: it counts only while the service is RUNNING, when OneFlow can act."""
    if not reading.service.is_running:
        return replace(memory, drain_counted_until=None)
    step = 0
    if memory.drain_counted_until is not None:
        step = min(max(0, reading.now - memory.drain_counted_until), LONGEST_COUNTED_STEP_SECONDS)
    return replace(memory, drain_seconds=memory.drain_seconds + step, drain_counted_until=reading.now)
