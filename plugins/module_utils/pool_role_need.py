# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What waits for each worker role, as the portal counts it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount, count_pending
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import wanted_shape
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_wanted import wanted_workers


@dataclass(frozen=True)
class RoleNeed:
    """shapes: what a worker of the role offers. wanted: workers still needed to start every job that counts."""

    view: RoleView
    shapes: tuple[WorkerShape, ...]
    pending: PendingCount
    wanted: int


def role_needs(policy: PortalPolicy, reading: PortalReading, largest: Mapping[str, WorkerShape]) -> dict[str, RoleNeed]:
    """Role name to its need, in the service's order. largest: as remembered, for roles without any worker."""
    needs = {}
    for role in reading.service.worker_roles():
        view = RoleView(reading.service, role, reading.slurm, policy.node_prefix, policy.min_vms, policy.max_vms)
        shapes = view.shapes() or (wanted_shape(role.name, policy.shapes, largest),)
        pending = count_pending(reading.slurm.jobs, shapes, view.pool_size)
        needs[role.name] = RoleNeed(view, shapes, pending, wanted_workers(view, shapes, reading.now))
    return needs
