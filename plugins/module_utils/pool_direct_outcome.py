# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal remembers of a change that it made, or that OneGate refused. Pure."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_grow import Growth
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectMemory,
    DirectRole,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import longer_pause_seconds
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import RETURN


def after_change(
    memory: DirectMemory, change: DirectChange, role_name: str, cardinality: int, idle_seconds: int, now: int
) -> DirectMemory:
    """A node was drained or is being returned. A drain that ended by time doubles the pause before the role's next."""
    if change.kind == RETURN:
        memory = _with_node(memory, change.node_name, asked_at=None, idle_since=now)
    if not change.ends_by_time:
        return memory
    role = memory.roles.get(role_name, DirectRole())
    pause_seconds = longer_pause_seconds(role.pause_seconds, idle_seconds)
    return _with_role(
        memory, role_name, pause_seconds=pause_seconds, pause_until=now + pause_seconds, pause_cardinality=cardinality
    )


def before_terminate(memory: DirectMemory, node_name: str, now: int) -> DirectMemory:
    """To be kept before OneGate is asked: a terminate that nobody remembers would let the node be returned."""
    return _with_node(memory, node_name, asked_at=now)


def after_refused_terminate(memory: DirectMemory, node_name: str, is_forbidden: bool, now: int) -> DirectMemory:
    """OneGate has surely not taken it. is_forbidden: it never will (403)."""
    memory = _with_node(memory, node_name, asked_at=None)
    return replace(memory, rights=replace(memory.rights, no_terminate_at=now)) if is_forbidden else memory


def after_refused_growth(memory: DirectMemory, growth: Growth, is_forbidden: bool, now: int) -> DirectMemory:
    """OneFlow does not take the cardinality: half the rise is tried next; after one worker the role counts as full."""
    if is_forbidden:
        return replace(memory, rights=replace(memory.rights, no_growth_at=now))
    rise = growth.cardinality - growth.cardinality_before
    return _with_role(memory, growth.role_name, largest_rise=rise // 2, refused_cardinality=growth.cardinality_before)


def _with_node(memory: DirectMemory, name: str, **changes: object) -> DirectMemory:
    return replace(memory, nodes={**memory.nodes, name: replace(memory.nodes[name], **changes)})


def _with_role(memory: DirectMemory, name: str, **changes: object) -> DirectMemory:
    role = memory.roles.get(name, DirectRole())
    return replace(memory, roles={**memory.roles, name: replace(role, **changes)})
