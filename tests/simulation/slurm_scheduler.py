# SPDX-License-Identifier: GPL-3.0-or-later
"""Which waiting job starts where, and the reason of those that go on waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.slurm_records import COMPLETING, PENDING, RUNNING, SUSPENDED, JobRecord, NodeRecord

if TYPE_CHECKING:
    from tests.simulation.slurm_model import SlurmModel

RESOURCES = "Resources"
PRIORITY = "Priority"
DEPENDENCY = "Dependency"
BEGIN_TIME = "BeginTime"
TASK_LIMIT = "JobArrayTaskLimit"
TOO_MANY_NODES = "PartitionNodeLimit"
TOO_LARGE = "PartitionConfig"
NODES_DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"


def run(slurm: SlurmModel, backfill: bool) -> None:
    """One pass over the queue, oldest first.

    Without ``backfill`` nothing starts past a job that waits for busy nodes; with it whatever leaves the nodes alone
    that the first such job will get.
    """
    blocked = False
    unavailable_seen = False
    reserved: set[str] = set()
    for job in [job for job in slurm.jobs.values() if job.state == PENDING]:
        reason = _reason_of_its_own(slurm, job)
        while not reason:
            capable = [node for node in slurm.nodes.values() if _can_hold(node, job)]
            if len(capable) < job.node_count:
                reason = TOO_MANY_NODES if capable else TOO_LARGE
                break
            usable = [node for node in capable if node.is_usable]
            if len(usable) < job.node_count:
                reason = _not_available(slurm, capable, unavailable_seen or bool(job.wanted_node))
                unavailable_seen = True
                break
            if blocked and not backfill:
                reason = PRIORITY
                break
            free = [node for node in usable if node.name not in reserved and _has_room(node, job)]
            if len(free) < job.node_count:
                reason = PRIORITY if blocked else RESOURCES
                if not blocked:
                    reserved = _reservation(slurm, usable, job)
                    blocked = True
                break
            slurm.start(job, free[: job.node_count])
            if job.state != PENDING or not job.tasks:
                break
            reason = _reason_of_its_own(slurm, job)
        if job.state == PENDING and reason and job.reason != reason:
            job.reason = reason
            slurm.touch(job)


def _reason_of_its_own(slurm: SlurmModel, job: JobRecord) -> str:
    """What keeps a job from being looked at; "" for nothing."""
    if job.held_by:
        return f"JobHeld{job.held_by}"
    if job.begin_time > slurm.clock.now():
        return BEGIN_TIME
    if job.depends_on is not None:
        other = slurm.jobs.get(job.depends_on)
        if other is not None and not other.is_finished:
            return DEPENDENCY
    if job.throttle is not None:
        running = sum(
            other.array_job_id == job.array_job_id and other.state in (RUNNING, SUSPENDED)
            for other in slurm.jobs.values()
        )
        if running >= job.throttle:
            return TASK_LIMIT
    return ""


def _can_hold(node: NodeRecord, job: JobRecord) -> bool:
    """An empty node of this kind could take the job's share; a placeholder counts like a node."""
    return (
        job.cpus_per_node <= node.cpus
        and (job.memory_per_node or 0) <= node.memory_mib
        and (not job.feature or job.feature in node.features)
        and (not job.wanted_node or node.name == job.wanted_node)
    )


def _has_room(node: NodeRecord, job: JobRecord) -> bool:
    if not node.jobs:
        return True
    if job.exclusive or any(other.state == COMPLETING for other in node.jobs):
        return False
    running = [other for other in node.jobs if other.state == RUNNING]
    if any(other.exclusive for other in running):
        return False
    if sum(other.cpus_per_node for other in running) + job.cpus_per_node > node.cpus:
        return False
    taken = sum(node.memory_mib if other.memory_per_node is None else other.memory_per_node for other in node.jobs)
    wanted = node.memory_mib if job.memory_per_node is None else job.memory_per_node
    return taken + wanted <= node.memory_mib


def _reservation(slurm: SlurmModel, usable: list[NodeRecord], job: JobRecord) -> set[str]:
    """The nodes that will be free first for the job at the head of the queue."""

    def free_at(node: NodeRecord) -> float:
        ends = [other.resumed_at + other.left_seconds for other in node.jobs]
        return max(ends, default=0.0)

    return {node.name for node in sorted(usable, key=free_at)[: job.node_count]}


def _not_available(slurm: SlurmModel, capable: list[NodeRecord], is_later: bool) -> str:
    """The first such job is told another sentence than those behind it."""
    if not is_later:
        return NODES_DOWN
    names = [node.name for node in capable if not node.is_future]
    if slurm.version == "22.05" and names:
        return f"ReqNodeNotAvail, UnavailableNodes:{','.join(names)}"
    return "ReqNodeNotAvail, May be reserved for other job"
