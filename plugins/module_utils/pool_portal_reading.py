# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal's tick was told and what it has read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import POLICIES
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape


@dataclass(frozen=True)
class PortalPolicy:
    """shapes: role to the shape that its placeholder must have, where the site names one.

    scaling: POLICIES, OneFlow's rules change the pool's size by what workers publish; or DIRECT, the portal does.
    min_vms: workers of each role that stay. max_vms: the most of each role, 0 when not known. idle_seconds,
    drain_seconds: in DIRECT, how long a worker is idle before it drains, and drained before it returns.
    """

    node_prefix: str
    shapes: Mapping[str, WorkerShape]
    scaling: str = POLICIES
    min_vms: int = 1
    max_vms: int = 0
    idle_seconds: int = 600
    drain_seconds: int = 600


@dataclass(frozen=True)
class PortalReading:
    """now: Unix seconds. slurm: with placeholders; None while slurmctld does not answer.

    worker_vms: VM id to VM of the listed workers that could be read. departed_vm_ids: of the VMs that were asked
    for singly, those that OneGate says are not in the service, or DONE.
    """

    now: int
    slurm: SlurmReading | None
    service: Service
    own_vm_id: int
    worker_vms: Mapping[int, Vm]
    departed_vm_ids: Collection[int] = frozenset()
