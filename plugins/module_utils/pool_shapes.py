# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What one worker of a role offers to jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

_SHAPE = re.compile(r"(?P<role>\w+):cpus=(?P<cpus>[1-9]\d*):mem=(?P<mem>[1-9]\d*)(?::gpus=(?P<gpus>\d+))?")


@dataclass(frozen=True)
class WorkerShape:
    """cpus, memory_mib, gpus and features as jobs can ask for them. partitions: empty when not known."""

    cpus: int
    memory_mib: int
    gpus: int
    features: frozenset[str]
    partitions: frozenset[str] = frozenset()

    def to_json(self) -> dict:
        """The shape as plain data, for the memory file."""
        return {
            "cpus": self.cpus,
            "memory_mib": self.memory_mib,
            "gpus": self.gpus,
            "features": sorted(self.features),
            "partitions": sorted(self.partitions),
        }


# A worker of the marketplace's service template: 2 VCPU and 4096 MiB, of which Slurm offers nine tenths.
MARKETPLACE_SHAPE = WorkerShape(cpus=2, memory_mib=3686, gpus=0, features=frozenset())


def shape_from_json(data: dict) -> WorkerShape:
    """The shape that to_json() wrote. Raises KeyError, TypeError or ValueError on anything else."""
    return WorkerShape(
        cpus=int(data["cpus"]),
        memory_mib=int(data["memory_mib"]),
        gpus=int(data["gpus"]),
        features=frozenset(str(word) for word in data["features"]),
        partitions=frozenset(str(word) for word in data["partitions"]),
    )


def shape_of_node(node: SlurmNode) -> WorkerShape:
    """What a registered node offers."""
    return WorkerShape(node.cpus, node.memory_mib, node.gpus, node.features, node.partitions)


def largest_shape(shapes: Iterable[WorkerShape]) -> WorkerShape | None:
    """The largest of each, with every feature and partition; None of none. Workers of a role are all alike."""
    shapes = tuple(shapes)
    if not shapes:
        return None
    return WorkerShape(
        cpus=max(shape.cpus for shape in shapes),
        memory_mib=max(shape.memory_mib for shape in shapes),
        gpus=max(shape.gpus for shape in shapes),
        features=frozenset().union(*(shape.features for shape in shapes)),
        partitions=frozenset().union(*(shape.partitions for shape in shapes)),
    )


def parse_shapes(text: str) -> dict[str, WorkerShape]:
    """Read ONEAPP_WORKER_SHAPES: ``worker:cpus=2:mem=3686:gpus=0;worker_big:...``, memory in MiB; "" is none.

    :raises PoolError: another form, or a role twice.
    """
    shapes: dict[str, WorkerShape] = {}
    for part in text.split(";") if text.strip() else []:
        match = _SHAPE.fullmatch(part.strip())
        if match is None or match.group("role") in shapes:
            raise PoolError(
                f"The worker shapes '{text}' cannot be read: one ROLE:cpus=N:mem=MIB[:gpus=N] for each worker role, "
                "separated by ;"
            )
        role = match.group("role")
        shapes[role] = WorkerShape(
            cpus=int(match.group("cpus")),
            memory_mib=int(match.group("mem")),
            gpus=int(match.group("gpus") or 0),
            features=frozenset([role]),
        )
    return shapes
