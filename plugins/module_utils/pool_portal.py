# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal does in one tick: one reading in, one decision out.

Pure: no input or output, and no clock (the reading carries its time), so that a simulation runs the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_DEPLOYING,
    SERVICE_DEPLOYING_NETS,
    SERVICE_DONE,
    SERVICE_HOLD,
    SERVICE_PENDING,
    SERVICE_UNDEPLOYING,
    SERVICE_UNDEPLOYING_NETS,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct import (
    DirectDecision,
    decide_direct,
    direct_memory_without_controller,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import IncompleteReadingError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen import Frozen, judge_frozen
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import vm_id_of_node
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import (
    PlaceholderChange,
    largest_registered,
    placeholder_changes,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import PortalMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_removal import (
    NodeRemoval,
    SkippedNode,
    absent_nodes,
    marks_of,
    may_be_set_down,
    verdict,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role_need import RoleNeed, role_needs
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import DIRECT
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_stale import stale_vm_ids

# While the service comes or goes, a missing VM means nothing.
_UNSETTLED_STATES = frozenset(
    [
        SERVICE_PENDING,
        SERVICE_DEPLOYING,
        SERVICE_DEPLOYING_NETS,
        SERVICE_UNDEPLOYING,
        SERVICE_UNDEPLOYING_NETS,
        SERVICE_DONE,
        SERVICE_HOLD,
    ]
)


@dataclass(frozen=True)
class PortalDecision:
    """removals, placeholders: each to be carried out by itself. stale_vm_ids: workers whose OLDEST_IDLE is reset.

    other_nodes: nodes that are not ours, left alone; new_other_nodes: those not reported before.
    needs: role name to what waits for it; empty while slurmctld does not answer. frozen: "" or a sentence that names
    the state and the remedy. direct: what the portal does to the pool's size; nothing in mode policies. why: a clause
    about the whole reading, or "".
    """

    removals: tuple[NodeRemoval, ...]
    skipped: tuple[SkippedNode, ...]
    placeholders: tuple[PlaceholderChange, ...]
    stale_vm_ids: tuple[int, ...]
    other_nodes: tuple[str, ...]
    new_other_nodes: tuple[str, ...]
    needs: Mapping[str, RoleNeed]
    frozen: str
    direct: DirectDecision
    why: str
    memory: PortalMemory


def decide_portal(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> PortalDecision:
    """Decide about every node and every worker role by itself.

    :raises IncompleteReadingError: the service does not list the portal's own VM.
    """
    if reading.service.role_of(reading.own_vm_id) is None:
        raise IncompleteReadingError(
            f"OneGate's service {reading.service.id} does not list this VM ({reading.own_vm_id}): nothing is decided."
        )
    if reading.slurm is None:
        return _decision_without_controller(policy, reading, memory)
    largest = largest_registered(reading.service, reading.slurm, policy.node_prefix, memory.largest_shapes)
    needs = role_needs(policy, reading, largest)
    frozen = judge_frozen(policy, reading, needs, memory.frozen)
    direct = DirectDecision()
    if policy.scaling == DIRECT:
        direct = decide_direct(policy, reading, needs, frozen.is_state, memory.direct)
    other_nodes = tuple(
        node.name for node in reading.slurm.machines if vm_id_of_node(policy.node_prefix, node.name) is None
    )
    decision = PortalDecision(
        removals=(),
        skipped=(),
        placeholders=placeholder_changes(reading.service, reading.slurm, policy.shapes, largest),
        stale_vm_ids=stale_vm_ids(reading),
        other_nodes=other_nodes,
        new_other_nodes=tuple(name for name in other_nodes if name not in memory.other_nodes),
        needs=needs,
        frozen=frozen.sentence,
        direct=direct,
        why="",
        memory=PortalMemory(
            largest_shapes=largest, other_nodes=other_nodes, direct=direct.memory, frozen=frozen.memory
        ),
    )
    if not _may_judge(reading, frozen):
        return replace(decision, why="no node is judged")
    verdicts = [verdict(node, policy, reading, memory) for node in absent_nodes(policy, reading)]
    return replace(
        decision,
        removals=tuple(one for one in verdicts if isinstance(one, NodeRemoval)),
        skipped=tuple(one for one in verdicts if isinstance(one, SkippedNode)),
        memory=replace(decision.memory, absent_at=marks_of(policy, reading, memory)),
    )


def vm_ids_to_ask_for(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> tuple[int, ...]:
    """VMs whose departure must be confirmed singly before their nodes are set down under a job."""
    if reading.slurm is None or not _may_judge(reading, judge_frozen(policy, reading, {}, memory.frozen)):
        return ()
    ids = (
        vm_id_of_node(policy.node_prefix, node.name)
        for node in absent_nodes(policy, reading)
        if may_be_set_down(node, reading, memory)
    )
    return tuple(vm_id for vm_id in ids if vm_id is not None)


def _decision_without_controller(policy: PortalPolicy, reading: PortalReading, memory: PortalMemory) -> PortalDecision:
    frozen = judge_frozen(policy, reading, {}, memory.frozen)
    direct = direct_memory_without_controller(reading, memory.direct)
    return PortalDecision(
        removals=(),
        skipped=(),
        placeholders=(),
        stale_vm_ids=stale_vm_ids(reading),
        other_nodes=(),
        new_other_nodes=(),
        needs={},
        frozen=frozen.sentence,
        direct=DirectDecision(),
        why="slurmctld does not answer: no node is touched",
        memory=replace(memory, direct=direct, frozen=frozen.memory),
    )


def _may_judge(reading: PortalReading, frozen: Frozen) -> bool:
    """Nothing is concluded from a missing VM while the service comes or goes, or is frozen."""
    return reading.service.state not in _UNSETTLED_STATES and not frozen.is_state
