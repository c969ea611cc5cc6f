# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one line that a worker's tick leaves in the log: what it saw, what it did, why. Pure."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import WorkerFigures
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import DIRECT
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    BEGIN_RETURN,
    DRAIN,
    RETURN,
    WorkerDecision,
    WorkerPolicy,
    WorkerReading,
)

_DONE = {DRAIN: "drained", BEGIN_RETURN: "return begun", RETURN: "returned to service"}


def seen_in(
    policy: WorkerPolicy, reading: WorkerReading, view: RoleView, pending: PendingCount, figures: WorkerFigures
) -> str:
    """What a reading shows, as in "worker 7 (oldest of 3): pending 0, wanted 0, sessions 0, idle 240 s of 600 s"."""
    parts = [f"pending {pending.jobs}", f"wanted {figures.slurm_wanted}", f"sessions {figures.active_sessions}"]
    if not figures.active_sessions:
        parts.append(f"idle {figures.idle_seconds} s" + _of_limit(policy))
    return f"{_who(reading)}: {', '.join(parts)}"


def seen_without_controller(reading: WorkerReading) -> str:
    """The same while slurmctld does not answer."""
    return f"{_who(reading)}: slurmctld does not answer"


def tick_line(reading: WorkerReading, decision: WorkerDecision, change_was_made: bool, said: str) -> str:
    """The whole line. said: why a decided change was not made, or what came after; "" for nothing."""
    made = decision.change is not None and change_was_made
    done = _DONE[decision.change.kind] if made else "nothing changed"
    sentences = [decision.why, said, reading.health.sentence]
    return f"{decision.seen}; {done}: {' '.join(sentence for sentence in sentences if sentence)}"


def _who(reading: WorkerReading) -> str:
    role = reading.service.role_of(reading.vm.id)
    place = role.vm_ids.index(reading.vm.id) + 1
    count = len(role.vm_ids)
    return f"{role.name} {reading.vm.id} ({'oldest' if place == 1 else f'number {place}'} of {count})"


def _of_limit(policy: WorkerPolicy) -> str:
    return "" if policy.scaling == DIRECT else f" of {policy.idle_seconds} s"
