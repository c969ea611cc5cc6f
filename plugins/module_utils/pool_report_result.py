# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a worker's tick tells its caller."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_change import ChangeOutcome
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import IDLE_SECONDS
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_line import tick_line
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import WorkerDecision, WorkerReading


def result_of(reading: WorkerReading, decision: WorkerDecision, node_name: str, outcome: ChangeOutcome | None) -> dict:
    """The module's result. outcome: None when no change was tried.

    IDLE_SECONDS goes on like a clock, so it is neither a change nor a difference.
    """
    figures = decision.figures.attributes()
    after = {name: str(value) for name, value in figures.items() if name != IDLE_SECONDS}
    before = {name: reading.vm.user_template.get(name) for name in after}
    change = decision.change
    made = change is not None and (outcome is None or outcome.made)
    node = reading.slurm.machine(node_name) if reading.slurm else None
    shown_before = {**before, "node": _shown(node.reason if node else None)}
    shown_after = {**after, "node": _shown(change.reason) if change is not None and made else shown_before["node"]}
    return {
        "changed": made or before != after,
        "figures": figures,
        "change": {"kind": change.kind, "node": change.node_name, "reason": change.reason} if change and made else None,
        "why": tick_line(reading, decision, made, outcome.said if outcome else ""),
        "controller_up": reading.slurm is not None,
        "healthy": reading.health.is_healthy,
        "service_state": reading.service.state_name,
        "role": getattr(reading.service.role_of(reading.vm.id), "name", None),
        "diff": {"before": shown_before, "after": shown_after},
    }


def _shown(reason: str | None) -> str:
    return "not registered" if reason is None else reason or "in service"
