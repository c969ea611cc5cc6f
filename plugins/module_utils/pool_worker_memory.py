# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a worker remembers from tick to tick, and across restarts of anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape, shape_from_json

_TIMES = (
    "updated_at",
    "idle_since",
    "drain_counted_until",
    "withdrawn_at",
    "pause_until",
    "pause_cardinality",
    "scaling_since",
)
_SECONDS = ("drain_seconds", "pause_seconds")


@dataclass(frozen=True)
class WorkerMemory:
    """Times are Unix seconds, None when there is nothing to remember.

    node_name: whose memory this is; another node's is void.
    updated_at: the last complete reading.
    idle_since: when the last job was seen here.
    drain_seconds: how long the present drain of ours has stood while the service was RUNNING, counted up to
    drain_counted_until. is_drained_by_us: as seen at the last reading.
    return_cause: why the node is being returned ("" when it is not).
    withdrawn_at: when OneGate took OLDEST_IDLE=0 for the present return.
    pause_until: no new drain before; pause_seconds: how long that pause is; both end when the role's cardinality
    is no longer pause_cardinality. scaling_since: the first reading that showed the service SCALING without an end.
    shapes: what the role's workers offered when any was registered.
    """

    node_name: str
    updated_at: int | None = None
    idle_since: int | None = None
    is_drained_by_us: bool = False
    drain_seconds: int = 0
    drain_counted_until: int | None = None
    return_cause: str = ""
    withdrawn_at: int | None = None
    pause_seconds: int = 0
    pause_until: int | None = None
    pause_cardinality: int | None = None
    scaling_since: int | None = None
    shapes: tuple[WorkerShape, ...] = ()

    def to_json(self) -> dict:
        """The memory as plain data."""
        return {**asdict(self), "shapes": [shape.to_json() for shape in self.shapes]}

    def forgetting_drain(self) -> WorkerMemory:
        """The memory once no drain or return of ours is under way."""
        return replace(
            self,
            is_drained_by_us=False,
            drain_seconds=0,
            drain_counted_until=None,
            return_cause="",
            withdrawn_at=None,
        )


def worker_memory_from_json(data: dict, node_name: str) -> WorkerMemory:
    """The memory that to_json() wrote; an empty one when the data is another node's or cannot be understood."""
    empty = WorkerMemory(node_name=node_name)
    if data.get("node_name") != node_name:
        return empty
    try:
        return WorkerMemory(
            node_name=node_name,
            is_drained_by_us=bool(data["is_drained_by_us"]),
            return_cause=str(data["return_cause"]),
            shapes=tuple(shape_from_json(shape) for shape in data["shapes"]),
            **{name: None if data[name] is None else int(data[name]) for name in _TIMES},
            **{name: int(data[name]) for name in _SECONDS},
        )
    except (KeyError, TypeError, ValueError):
        return empty
