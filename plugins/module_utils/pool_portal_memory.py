# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal remembers from tick to tick."""

from __future__ import annotations

from dataclasses import dataclass, field

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectMemory,
    direct_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_memory import (
    FrozenMemory,
    frozen_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape, shape_from_json


@dataclass(frozen=True)
class PortalMemory:
    """absent_at: node name to the last complete reading (Unix seconds) in which its VM was not in the service.
    largest_shapes: role to the largest worker that ever registered. other_nodes: nodes that are not ours and have
    been reported once. direct: of workers that the portal scales itself. frozen: of a pool that OneFlow does not scale.
    """

    absent_at: dict[str, int] = field(default_factory=dict)
    largest_shapes: dict[str, WorkerShape] = field(default_factory=dict)
    other_nodes: tuple[str, ...] = ()
    direct: DirectMemory = DirectMemory()
    frozen: FrozenMemory = FrozenMemory()

    def to_json(self) -> dict:
        """The memory as plain data."""
        return {
            "absent_at": dict(self.absent_at),
            "largest_shapes": {role: shape.to_json() for role, shape in self.largest_shapes.items()},
            "other_nodes": list(self.other_nodes),
            "direct": self.direct.to_json(),
            "frozen": self.frozen.to_json(),
        }


def portal_memory_from_json(data: dict) -> PortalMemory:
    """The memory that to_json() wrote; what cannot be understood is left out."""
    return PortalMemory(
        absent_at=_readable(data.get("absent_at"), int),
        largest_shapes=_readable(data.get("largest_shapes"), shape_from_json),
        other_nodes=tuple(str(name) for name in _listed(data.get("other_nodes"))),
        direct=direct_memory_from_json(data.get("direct")),
        frozen=frozen_memory_from_json(data.get("frozen")),
    )


def _readable(items, read) -> dict:
    found = {}
    for name, value in items.items() if isinstance(items, dict) else ():
        try:
            found[str(name)] = read(value)
        except (KeyError, TypeError, ValueError):
            pass
    return found


def _listed(items) -> list:
    return items if isinstance(items, list) else []
