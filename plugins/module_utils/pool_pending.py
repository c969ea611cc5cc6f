# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which waiting jobs count: those that one more worker of the role could start.

An allow-list, so a reason that a later Slurm invents counts as "does not help".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Iterable, Iterator

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_features import (
    FeatureExpressionError,
    matches_features,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob

# "None" stands right after submit, before the scheduler has looked at the job.
WAITING_REASONS = frozenset(["Resources", "Priority", "None"])
NODES_DOWN_PREFIX = "Nodes required for job are DOWN"
NODE_NOT_AVAILABLE_PREFIX = "ReqNodeNotAvail"
MAINTENANCE = "Reserved for maintenance"
# 22.05 gives these to every job on more nodes than there are, the first even to a job on one when there is none. With
# enough nodes they mean that none is large enough, or that the partition does not allow the job.
TOO_FEW_NODES_REASONS = frozenset(["PartitionConfig", "PartitionNodeLimit"])


@dataclass(frozen=True)
class PoolSize:
    """machines: nodes that slurmctld knows and that are no placeholders. most: the workers that the pool may have, 0
    when that is not known.
    """

    machines: int
    most: int = 0

    def may_serve(self, node_count: int) -> bool:
        """The pool may ever have so many workers."""
        return not 0 < self.most < node_count


@dataclass(frozen=True)
class PendingCount:
    """jobs: waiting jobs that a further worker of the role would help, array tasks counted singly as far as the
    array's throttle would let them start.

    asked_nodes: nodes that waiting jobs ask for by name: another worker would not help those, but the node itself
    is wanted.
    """

    jobs: int
    asked_nodes: frozenset[str]

    def wants(self, node_name: str) -> bool:
        """Something waits that this node could serve."""
        return self.jobs > 0 or node_name in self.asked_nodes


def count_pending(jobs: Iterable[SlurmJob], shapes: Iterable[WorkerShape], pool: PoolSize) -> PendingCount:
    """Count for a role whose workers have these shapes (any of them will do; without one nothing counts)."""
    jobs = tuple(jobs)
    waiting = _waiting(jobs, pool)
    asked_nodes = frozenset(name for job in waiting for name in job.required_nodes)
    counted = counted_jobs(jobs, shapes, pool)
    return PendingCount(sum(startable for _job, startable in counted), asked_nodes)


def counted_jobs(
    jobs: Iterable[SlurmJob], shapes: Iterable[WorkerShape], pool: PoolSize
) -> Iterator[tuple[SlurmJob, int]]:
    """The waiting jobs that count, in the order given, each with how many jobs or array tasks of it could start."""
    jobs = tuple(jobs)
    shapes = tuple(shapes)
    started = Counter(job.array_job_id for job in jobs if _is_started(job))
    fits_any: dict[tuple, bool] = {}
    for job in _waiting(jobs, pool):
        if job.required_nodes:
            continue
        request = request_of(job)
        if request not in fits_any:
            fits_any[request] = any(fits(job, shape) for shape in shapes)
        if fits_any[request]:
            yield job, 1 if job.tasks is None else job.tasks.startable(started[job.array_job_id])


def request_of(job: SlurmJob) -> tuple:
    """What a job asks of its workers: two jobs with the same request fit the same workers."""
    return (
        job.partitions, job.node_count, job.cpus, job.memory_mib, job.gpus, job.feature_expression, job.exclusive
    )  # fmt: skip


def _waiting(jobs: Iterable[SlurmJob], pool: PoolSize) -> list[SlurmJob]:
    return [job for job in jobs if job.is_pending and waits_for_a_node(job, pool)]


def waits_for_a_node(job: SlurmJob, pool: PoolSize) -> bool:
    """Tell by its reason whether a waiting job waits for nodes, of which the pool may have enough, and nothing else."""
    if not pool.may_serve(job.node_count):
        return False
    reason = job.reason
    if reason in WAITING_REASONS or reason.startswith(NODES_DOWN_PREFIX):
        return True
    if reason.startswith(NODE_NOT_AVAILABLE_PREFIX):
        return MAINTENANCE not in reason
    return reason in TOO_FEW_NODES_REASONS and job.node_count > pool.machines


def fits(job: SlurmJob, shape: WorkerShape) -> bool:
    """Tell whether an empty worker of this shape can take the job, or its share of a job on several nodes.

    An exclusive job needs no more than an empty worker. memory_mib is None for a job that takes all there is.
    """
    if shape.partitions and not shape.partitions.intersection(job.partitions):
        return False
    if node_share(job.cpus, job) > shape.cpus or node_share(job.gpus, job) > shape.gpus:
        return False
    if job.memory_mib is not None and node_share(job.memory_mib, job) > shape.memory_mib:
        return False
    try:
        return matches_features(job.feature_expression, shape.features)
    except FeatureExpressionError:
        return False


def _is_started(job: SlurmJob) -> bool:
    """A completing task has given its place under the throttle back."""
    return job.is_live and job.state != "COMPLETING"


def node_share(total: int, job: SlurmJob) -> int:
    """What one node at most has to give of a job's total."""
    return -(-total // job.node_count)
