# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scaling mode "direct": the portal itself drains, returns, terminates and asks for workers. Pure.

OneFlow's rules stay silent, since workers publish SLURM_PENDING and OLDEST_IDLE as 0 in this mode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_clock import (
    nodes_up_to_date,
    nodes_without_controller,
    role_up_to_date,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_drain import drains
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_grow import Growth, growth
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectMemory,
    DirectRole,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_return import returns
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_terminate import (
    Termination,
    termination,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import DirectView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role_need import RoleNeed
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import RETURN


@dataclass(frozen=True)
class DirectDecision:
    """changes: of nodes, each carried out by itself. terminations: at most one for each role. growth: at most one,
    since OneFlow scales one role at a time. memory: to keep if nothing is carried out.
    """

    changes: tuple[DirectChange, ...] = ()
    terminations: tuple[Termination, ...] = ()
    growth: Growth | None = None
    memory: DirectMemory = DirectMemory()


def decide_direct(
    policy: PortalPolicy, reading: PortalReading, needs: Mapping[str, RoleNeed], is_frozen: bool, memory: DirectMemory
) -> DirectDecision:
    """Decide about every worker role. needs: role name to what waits for it; reading.slurm must be there."""
    nodes = nodes_up_to_date(policy, reading, memory)
    roles = {
        name: role_up_to_date(need.view, reading, memory.roles.get(name, DirectRole())) for name, need in needs.items()
    }
    changes: list[DirectChange] = []
    terminations: list[Termination] = []
    grown: Growth | None = None
    for name, need in needs.items():
        role = DirectView(policy, reading, need.view, need.pending, is_frozen, roles[name], nodes, memory.rights)
        returned = returns(role)
        ended = None if returned else termination(role)
        changes += [*returned, *([] if returned else drains(role))]
        terminations += [ended] if ended is not None else []
        if grown is None:
            back = {change.node_name for change in returned if change.kind == RETURN}
            grown = growth(role, need.shapes, back)
    return DirectDecision(
        tuple(changes), tuple(terminations), grown, DirectMemory(nodes=nodes, roles=roles, rights=memory.rights)
    )


def direct_memory_without_controller(reading: PortalReading, memory: DirectMemory) -> DirectMemory:
    """The memory after a tick in which slurmctld did not answer."""
    return replace(memory, nodes=nodes_without_controller(reading, memory))
