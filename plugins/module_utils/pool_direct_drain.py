# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which idle workers the portal drains. Pure."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import DirectView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DIRECT_IDLE_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import DRAIN
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


def drains(role: DirectView) -> tuple[DirectChange, ...]:
    """Several may drain at once, the one that is idle for the longest first; the minimum stays untouched."""
    if obstacle_to_drains(role):
        return ()
    idle = [node for node in role.in_service if _may_drain(role, node)]
    longest_first = sorted(idle, key=lambda node: _idle_since(role, node))
    return tuple(
        DirectChange(
            kind=DRAIN,
            node_name=node.name,
            reason=DIRECT_IDLE_REASON,
            found_reason="",
            why=f"idle for {role.now - _idle_since(role, node)} s",
        )
        for node in longest_first[: max(0, len(role.in_service) - role.minimum)]
    )


def obstacle_to_drains(role: DirectView) -> str:
    """What keeps every worker of the role from being drained, "" when nothing does."""
    pause_seconds = (role.role.pause_until or 0) - role.now
    obstacles = (
        *role.obstacles_to_shrinking,
        (pause_seconds > 0, f"no drain for {pause_seconds} s, since an earlier one ended by time"),
    )
    return next((sentence for holds, sentence in obstacles if holds), "")


def _may_drain(role: DirectView, node: SlurmNode) -> bool:
    return (
        role.is_empty(node)
        and node.name not in role.pending.asked_nodes
        and role.runs(node.name)
        and role.nodes[node.name].asked_at is None
        and role.now - _idle_since(role, node) >= role.policy.idle_seconds
    )


def _idle_since(role: DirectView, node: SlurmNode) -> int:
    since = role.nodes[node.name].idle_since
    return role.now if since is None else since
