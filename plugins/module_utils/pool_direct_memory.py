# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal remembers of workers and roles that it scales itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_record import (
    record_from_json,
    records_from_json,
)


@dataclass(frozen=True)
class DirectNode:
    """One listed worker. Times are Unix seconds, None when there is nothing to remember.

    updated_at: the last complete reading. idle_since: when the last job was seen there.
    is_drained_by_us: as seen at the last reading. empty_since: the first reading that showed the present drain with
    no job. drain_seconds: how long it has stood while the service was RUNNING, counted up to drain_counted_until.
    asked_at: when OneGate was asked to terminate the VM. unready_since: the first reading of a VM that has never said
    READY=YES. was_ready: it has said so. without_node_since: the first reading in which slurmctld did not know its
    node.
    """

    updated_at: int | None = None
    idle_since: int | None = None
    is_drained_by_us: bool = False
    empty_since: int | None = None
    drain_seconds: int = 0
    drain_counted_until: int | None = None
    asked_at: int | None = None
    unready_since: int | None = None
    was_ready: bool = False
    without_node_since: int | None = None


@dataclass(frozen=True)
class DirectRole:
    """One worker role.

    policies_seen_at: the last reading in which OneFlow's own rules may still have been fed.
    largest_rise: OneFlow has refused more than that many workers at once beyond refused_cardinality; 0: the role is
    full. pause_until: no new drain before; pause_seconds: how long that pause is; both end when the cardinality is
    no longer pause_cardinality. below_minimum_since: the first reading of a cardinality below the minimum.
    """

    policies_seen_at: int | None = None
    largest_rise: int | None = None
    refused_cardinality: int | None = None
    pause_seconds: int = 0
    pause_until: int | None = None
    pause_cardinality: int | None = None
    below_minimum_since: int | None = None


@dataclass(frozen=True)
class DirectRights:
    """When OneGate last forbade (403) a terminate or a change of cardinality."""

    no_terminate_at: int | None = None
    no_growth_at: int | None = None


@dataclass(frozen=True)
class DirectMemory:
    """nodes: by node name; roles: by role name."""

    nodes: Mapping[str, DirectNode] = field(default_factory=dict)
    roles: Mapping[str, DirectRole] = field(default_factory=dict)
    rights: DirectRights = DirectRights()

    def to_json(self) -> dict:
        """The memory as plain data."""
        return {
            "nodes": {name: vars(node) for name, node in self.nodes.items()},
            "roles": {name: vars(role) for name, role in self.roles.items()},
            "rights": vars(self.rights),
        }


def direct_memory_from_json(data: object) -> DirectMemory:
    """The memory that to_json() wrote; what cannot be understood is left out."""
    given = data if isinstance(data, dict) else {}
    return DirectMemory(
        nodes=records_from_json(DirectNode, given.get("nodes")),
        roles=records_from_json(DirectRole, given.get("roles")),
        rights=record_from_json(DirectRights, given.get("rights")),
    )
