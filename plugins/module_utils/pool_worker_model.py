# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a worker's decision rests on and what it consists of."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import WorkerFigures
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import Health
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import POLICIES
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory

# OneFlow reads the published figures every autoscaler_interval (90 s by default) and acts on what it read, so a
# returning node takes jobs only when a reading made before the withdrawal can no longer remove its VM.
RETURN_GRACE_SECONDS = 150

DRAIN = "drain"
BEGIN_RETURN = "begin-return"
RETURN = "return"

BY_TIME = "time"
BY_JOB = "job"
BY_FREEZE = "freeze"
BY_MODE = "mode"


@dataclass(frozen=True)
class WorkerPolicy:
    """idle_seconds: without a job before the oldest worker drains. drain_seconds: how long it then waits to be
    removed. min_vms: workers of the role that stay; at least 1, since nobody would publish without any. max_vms: the
    most of each role, 0 when not known.
    scaling: POLICIES, or DIRECT, in which the portal drains and returns and this worker only publishes."""

    node_prefix: str
    idle_seconds: int
    drain_seconds: int
    min_vms: int
    scaling: str = POLICIES
    max_vms: int = 0


@dataclass(frozen=True)
class WorkerReading:
    """now: Unix seconds. slurm: None while slurmctld does not answer. vm: this worker's own."""

    now: int
    slurm: SlurmReading | None
    service: Service
    vm: Vm
    health: Health = Health(True)


@dataclass(frozen=True)
class NodeChange:
    """One change of this worker's node. kind: DRAIN, BEGIN_RETURN or RETURN; reason: the node's afterwards."""

    kind: str
    node_name: str
    reason: str


@dataclass(frozen=True)
class WorkerDecision:
    """figures: to publish. seen, why: what was read and why that leads to the change or to none, in words.

    memory: to keep if no change is made. return_cause: BY_JOB and so on, "" when no return begins or goes on.
    """

    figures: WorkerFigures
    change: NodeChange | None
    seen: str
    why: str
    memory: WorkerMemory
    return_cause: str = ""
