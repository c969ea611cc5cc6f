# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The result of the portal's tick as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_grow import Growth
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import node_name
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import PlaceholderChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import PortalDecision
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_line import RoleFigures
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_removal import (
    DELETE,
    NodeRemoval,
    SkippedNode,
)


@dataclass(frozen=True)
class Deeds:
    """What was done, or would be in check mode. kept: nodes without a VM that stay for now."""

    removals: tuple[NodeRemoval, ...]
    kept: tuple[SkippedNode, ...]
    changes: tuple[DirectChange, ...]
    terminated: tuple[int, ...]
    growth: Growth | None

    @property
    def deleted(self) -> list[str]:
        """Names of the deleted nodes."""
        return [removal.node_name for removal in self.removals if removal.kind == DELETE]

    @property
    def set_down(self) -> list[str]:
        """Names of the nodes that were set down."""
        return [removal.node_name for removal in self.removals if removal.kind != DELETE]


def intended(decision: PortalDecision) -> Deeds:
    """All that was decided."""
    direct = decision.direct
    ids = tuple(one.vm_id for one in direct.terminations)
    return Deeds(decision.removals, decision.skipped, direct.changes, ids, direct.growth)


def result_of(
    policy: PortalPolicy,
    reading: PortalReading,
    decision: PortalDecision,
    deeds: Deeds,
    roles: dict[str, RoleFigures],
    why: str,
) -> dict:
    """The module's result."""
    placeholders = [
        {"name": change.name, "kind": change.kind, **_plain_shape(change)} for change in decision.placeholders
    ]
    changes = [{"kind": one.kind, "node": one.node_name, "reason": one.reason} for one in deeds.changes]
    growth = deeds.growth
    return {
        "changed": bool(
            deeds.removals or placeholders or decision.stale_vm_ids or changes or deeds.terminated or growth
        ),
        "deleted": deeds.deleted,
        "set_down": deeds.set_down,
        "kept": [{"node": one.node_name, "why": one.why} for one in deeds.kept],
        "placeholders": placeholders,
        "oldest_idle_reset": list(decision.stale_vm_ids),
        "changes": changes,
        "terminated": list(deeds.terminated),
        "cardinality": {growth.role_name: growth.cardinality} if growth else {},
        "other_nodes": list(decision.other_nodes),
        "unread_vms": unread_vm_ids(reading),
        "controller_up": reading.slurm is not None,
        "service_state": reading.service.state_name,
        "roles": {name: figures.to_json() for name, figures in roles.items()},
        "frozen": decision.frozen,
        "why": why,
        "diff": _diff(policy, reading, decision, deeds),
    }


def unread_vm_ids(reading: PortalReading) -> list[int]:
    """Listed workers that OneGate did not show."""
    listed = (vm_id for role in reading.service.worker_roles() for vm_id in role.vm_ids)
    return [vm_id for vm_id in listed if vm_id not in reading.worker_vms]


def _diff(policy: PortalPolicy, reading: PortalReading, decision: PortalDecision, deeds: Deeds) -> dict:
    after = dict.fromkeys(deeds.deleted, "absent")
    after.update(dict.fromkeys(deeds.set_down, "DOWN"))
    after.update({change.name: f"FUTURE {_plain_shape(change)}" for change in decision.placeholders})
    after.update({change.node_name: change.reason or "in service" for change in deeds.changes})
    after.update({node_name(policy.node_prefix, vm_id): "terminated" for vm_id in deeds.terminated})
    before = {name: _state(reading, name) for name in after}
    if deeds.growth is not None:
        before[deeds.growth.role_name] = f"cardinality {deeds.growth.cardinality_before}"
        after[deeds.growth.role_name] = f"cardinality {deeds.growth.cardinality}"
    return {"before": before, "after": after}


def _plain_shape(change: PlaceholderChange) -> dict:
    shape = change.shape
    return {
        "cpus": shape.cpus,
        "memory_mib": shape.memory_mib,
        "gpus": shape.gpus,
        "features": sorted(shape.features),
    }


def _state(reading: PortalReading, name: str) -> str:
    node = reading.slurm.node(name) if reading.slurm else None
    return "absent" if node is None else node.state
