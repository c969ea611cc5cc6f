# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether the pool is frozen: OneFlow scales nothing and will not by itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_FAILED_SCALING,
    SERVICE_SCALING,
    SERVICE_WARNING,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_memory import (
    FrozenMemory,
    Unanswered,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role_need import RoleNeed
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import POLICIES
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_stale import says_oldest_idle
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_return import LONGEST_SCALING_SECONDS

UNANSWERED_SECONDS = 600

# By it the portal knows its own sentence again: one about a failed boot begins with the role.
ERROR_PREFIX = "pool: "


@dataclass(frozen=True)
class Frozen:
    """sentence: the state and the remedy, "" when the pool is not frozen.

    is_state: the service's state is the cause, so nothing may be drained or deleted.
    """

    sentence: str
    is_state: bool
    memory: FrozenMemory


def judge_frozen(
    policy: PortalPolicy, reading: PortalReading, needs: Mapping[str, RoleNeed], memory: FrozenMemory
) -> Frozen:
    """needs: role name to what waits for it; empty while slurmctld does not answer."""
    state = reading.service.state
    since = memory.state_since if memory.state == state and memory.state_since is not None else reading.now
    memory = replace(memory, state=state, state_since=since, unanswered=_unanswered(policy, reading, needs, memory))
    sentence = _state_sentence(reading, reading.now - since)
    if sentence:
        return Frozen(sentence, True, memory)
    silent = [name for name, one in memory.unanswered.items() if reading.now - one.since >= UNANSWERED_SECONDS]
    return Frozen(_unanswered_sentence(silent) if silent else "", False, memory)


def _state_sentence(reading: PortalReading, seconds: int) -> str:
    service = reading.service
    if service.state == SERVICE_WARNING:
        return (
            f"Service {service.id} is WARNING, so OneFlow scales nothing: resume or terminate its virtual machine that "
            "is powered off, unknown or failed; if the state stays, restart opennebula-flow."
        )
    if service.state == SERVICE_FAILED_SCALING:
        return (
            f"Service {service.id} is FAILED_SCALING, so OneFlow scales nothing: a virtual machine could not be "
            f"started; let an administrator of the cloud mend the cause and run oneflow recover {service.id}."
        )
    if service.state == SERVICE_SCALING and seconds > LONGEST_SCALING_SECONDS:
        return (
            f"Service {service.id} is SCALING for more than {LONGEST_SCALING_SECONDS} s: a virtual machine does not "
            "become READY or does not end; see its ERROR and its log, or terminate it."
        )
    return ""


def _unanswered_sentence(role_names: list[str]) -> str:
    return (
        f"OneFlow does not react for role {' and '.join(role_names)}: pool at max_vms, or its autoscaler has stopped; "
        "raise max_vms, or restart opennebula-flow."
    )


def _unanswered(
    policy: PortalPolicy, reading: PortalReading, needs: Mapping[str, RoleNeed], memory: FrozenMemory
) -> dict[str, Unanswered]:
    """Roles whose published figures call for a change, with the time since which the cardinality has not moved."""
    if policy.scaling != POLICIES or not reading.service.is_running:
        return {}
    found = {}
    for name, need in needs.items():
        cardinality = need.view.role.cardinality
        before = memory.unanswered.get(name)
        if _calls_for_change(policy, reading, need):
            goes_on = before is not None and before.cardinality == cardinality
            found[name] = before if goes_on else Unanswered(reading.now, cardinality)
    return found


def _calls_for_change(policy: PortalPolicy, reading: PortalReading, need: RoleNeed) -> bool:
    """Jobs wait and the role may still grow, or a worker tells OneFlow that the oldest may go."""
    role = need.view.role
    is_full = 0 < policy.max_vms <= role.cardinality
    return (need.pending.jobs > 0 and not is_full) or any(says_oldest_idle(reading, vm_id) for vm_id in role.vm_ids)
