# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which drained workers the portal gives back to the queue. Pure."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_terminate import obstacle_to_terminates
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import (
    POLICIES_REASONS,
    TERMINATE_SECONDS,
    DirectView,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DIRECT_RETURNING_REASON,
    DRAIN_REASONS,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import BEGIN_RETURN, RETURN
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


def returns(role: DirectView) -> tuple[DirectChange, ...]:
    """Each drained node of ours judged by itself, in OneFlow's order."""
    if role.view.is_ending or role.view.is_shrinking:
        return ()
    found = []
    missing = role.minimum - len(role.in_service)
    for node in role.view.registered:
        change = _return(role, node, missing) if _may_return(role, node) else None
        if change is not None:
            found.append(change)
            missing -= change.kind == RETURN
    return tuple(found)


def _may_return(role: DirectView, node: SlurmNode) -> bool:
    asked_at = role.nodes[node.name].asked_at
    return (
        node.has_drain_flag
        and node.reason in DRAIN_REASONS
        and node.can_return
        and role.runs(node.name)
        and (asked_at is None or role.now - asked_at >= TERMINATE_SECONDS)
    )


def _return(role: DirectView, node: SlurmNode, missing: int) -> DirectChange | None:
    if node.reason in POLICIES_REASONS:
        why = "drained by the other mode: returned once OneFlow can no longer act on it"
        return _change(BEGIN_RETURN, node, why)
    if node.reason == DIRECT_RETURNING_REASON:
        return _change(RETURN, node, "returned to service") if role.is_quiet else None
    memory = role.nodes[node.name]
    if memory.asked_at is not None:
        why = f"its VM still runs {TERMINATE_SECONDS} s after it was to be terminated"
        return _change(BEGIN_RETURN, node, why, ends_by_time=True)
    causes = (
        (role.is_frozen, f"the service is {role.view.service.state_name}"),
        (role.pending.wants(node.name), "a job waits that it could serve"),
        (missing > 0, "fewer workers than the minimum are in service"),
        (not role.may_terminate, "OneGate does not let this VM terminate others"),
    )
    why = next((clause for holds, clause in causes if holds), "")
    if why:
        return _change(RETURN, node, why)
    if memory.drain_seconds >= role.policy.drain_seconds and obstacle_to_terminates(role):
        return _change(RETURN, node, f"not terminated within {role.policy.drain_seconds} s", ends_by_time=True)
    return None


def _change(kind: str, node: SlurmNode, why: str, ends_by_time: bool = False) -> DirectChange:
    return DirectChange(
        kind=kind,
        node_name=node.name,
        reason=DIRECT_RETURNING_REASON if kind == BEGIN_RETURN else "",
        found_reason=node.reason,
        why=why,
        ends_by_time=ends_by_time,
    )
