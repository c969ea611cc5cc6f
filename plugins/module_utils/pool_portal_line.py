# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one line that says what a tick of the portal saw, decided and why. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_grow import Growth
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role_need import RoleNeed
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import BEGIN_RETURN, DRAIN, RETURN

_VERBS = {DRAIN: "drained", BEGIN_RETURN: "begins to return", RETURN: "returned"}


@dataclass(frozen=True)
class RoleFigures:
    """One worker role: the cardinality; nodes that respond; jobs that wait for it; workers that they still need;
    nodes that are drained by us.
    """

    cardinality: int
    responding: int
    pending: int
    wanted: int
    drained: int

    def to_json(self) -> dict:
        """The figures as plain data."""
        return asdict(self)


def figures_of(need: RoleNeed) -> RoleFigures:
    """Count for one role."""
    nodes = need.view.registered
    return RoleFigures(
        cardinality=need.view.role.cardinality,
        responding=sum(1 for node in nodes if node.is_responding),
        pending=need.pending.jobs,
        wanted=need.wanted,
        drained=sum(1 for node in nodes if node.has_drain_flag and node.reason in DRAIN_REASONS),
    )


def role_clause(name: str, figures: RoleFigures) -> str:
    """What was seen of a role."""
    counts = (f"{figure} {number}" for figure, number in figures.to_json().items())
    return f"{name}: {', '.join(counts)}"


def change_clause(change: DirectChange) -> str:
    """What was done to a node, and why."""
    return f"{change.node_name} {_VERBS[change.kind]}, {change.why}"


def growth_clause(growth: Growth) -> str:
    """What OneFlow was asked for."""
    return f"{growth.role_name} grows from {growth.cardinality_before} to {growth.cardinality}"


def in_one_line(clauses: Iterable[str]) -> str:
    """Clauses in one line, whatever they hold."""
    return "; ".join(" ".join(clause.split()) for clause in clauses if clause)
