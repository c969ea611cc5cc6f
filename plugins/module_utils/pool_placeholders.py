# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Placeholders: one FUTURE node for each worker role, so that jobs are accepted and wait while no worker is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, ServiceRole
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import node_name, placeholder_name
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import (
    MARKETPLACE_SHAPE,
    WorkerShape,
    largest_shape,
    shape_of_node,
)

CREATE = "create"
REPLACE = "replace"


@dataclass(frozen=True)
class PlaceholderChange:
    """kind: CREATE or REPLACE the FUTURE node of that name by one of this shape."""

    kind: str
    name: str
    shape: WorkerShape


def largest_registered(
    service: Service, slurm: SlurmReading, node_prefix: str, remembered: Mapping[str, WorkerShape]
) -> dict[str, WorkerShape]:
    """Role to the largest worker that ever registered, this reading included."""
    largest = dict(remembered)
    for role in service.worker_roles():
        found = largest_shape(_shapes_so_far(role, slurm, node_prefix, remembered))
        if found is not None:
            largest[role.name] = found
    return largest


def _shapes_so_far(
    role: ServiceRole, slurm: SlurmReading, node_prefix: str, remembered: Mapping[str, WorkerShape]
) -> list[WorkerShape]:
    nodes = (slurm.machine(node_name(node_prefix, vm_id)) for vm_id in role.vm_ids)
    shapes = [shape_of_node(node) for node in nodes if node is not None]
    return [remembered[role.name], *shapes] if role.name in remembered else shapes


def wanted_shape(role_name: str, given: Mapping[str, WorkerShape], largest: Mapping[str, WorkerShape]) -> WorkerShape:
    """What the role's placeholder should offer: as given, else as seen, else as the marketplace's worker."""
    shape = given.get(role_name) or largest.get(role_name) or MARKETPLACE_SHAPE
    return replace(shape, features=shape.features | {role_name}, partitions=frozenset())


def placeholder_changes(
    service: Service, slurm: SlurmReading, given: Mapping[str, WorkerShape], largest: Mapping[str, WorkerShape]
) -> tuple[PlaceholderChange, ...]:
    """The placeholders to create or replace. ``slurm`` must have been read with its placeholders.

    One of another shape is replaced only while a worker responds: between its deletion and its creation an empty
    pool would refuse every job.
    """
    changes = []
    for role in service.worker_roles():
        name = placeholder_name(role.name)
        shape = wanted_shape(role.name, given, largest)
        present = slurm.node(name)
        if present is None:
            changes.append(PlaceholderChange(CREATE, name, shape))
        elif (
            present.is_future
            and replace(shape_of_node(present), partitions=frozenset()) != shape
            and any(node.is_responding for node in slurm.machines)
        ):
            changes.append(PlaceholderChange(REPLACE, name, shape))
    return tuple(changes)
