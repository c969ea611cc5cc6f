# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes and jobs as slurmctld keeps them, and what its commands show of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_arrays import ArrayTasks
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import FINISHED_STATES, SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

PENDING = "PENDING"
RUNNING = "RUNNING"
SUSPENDED = "SUSPENDED"
COMPLETING = "COMPLETING"

_DYNAMIC = frozenset(["DYNAMIC_NORM"])


@dataclass(eq=False)
class NodeRecord:
    """One node. ``jobs``: those that hold it. ``shown``: what was shown last, None once something has changed."""

    name: str
    cpus: int
    memory_mib: int
    features: frozenset[str]
    address: str = ""
    is_future: bool = False
    is_down: bool = False
    is_silent: bool = False
    is_drained: bool = False
    reason: str = ""
    reason_user: str = ""
    reason_time: int | None = None
    boot_time: int | None = None
    last_busy: int | None = None
    jobs: list[JobRecord] = field(default_factory=list)
    shown: SlurmNode | None = None

    @property
    def is_usable(self) -> bool:
        """It takes jobs: nobody has drained it, and its slurmd answers."""
        return not (self.is_future or self.is_down or self.is_silent or self.is_drained)

    def show(self, shows_suspended: bool) -> SlurmNode:
        """The record as ``scontrol show node`` prints it.

        :param shows_suspended: 24.11 counts a suspended job's node as mixed, 22.05 as idle.
        """
        if self.shown is None:
            running = [job for job in self.jobs if job.state == RUNNING]
            allocated = sum(self.cpus if job.exclusive else job.cpus_per_node for job in running)
            flags = set(_DYNAMIC)
            for flag, holds in (
                ("DRAIN", self.is_drained),
                ("NOT_RESPONDING", self.is_silent),
                ("COMPLETING", any(job.state == COMPLETING for job in self.jobs)),
            ):
                if holds:
                    flags.add(flag)
            self.shown = SlurmNode(
                name=self.name,
                base_state=self._base_state(allocated, shows_suspended),
                flags=frozenset() if self.is_future else frozenset(flags),
                address=self.address,
                cpus=self.cpus,
                allocated_cpus=allocated,
                memory_mib=self.memory_mib,
                features=self.features,
                gpus=0,
                partitions=frozenset() if self.is_future else frozenset(["main"]),
                reason=self.reason,
                reason_user=self.reason_user,
                reason_time=self.reason_time,
                boot_time=self.boot_time,
                slurmd_start_time=self.boot_time,
                last_busy_time=self.last_busy,
            )
        return self.shown

    def _base_state(self, allocated: int, shows_suspended: bool) -> str:
        if self.is_future:
            return "FUTURE"
        if self.is_down:
            return "DOWN"
        if allocated >= self.cpus:
            return "ALLOCATED"
        if allocated or (shows_suspended and any(job.state == SUSPENDED for job in self.jobs)):
            return "MIXED"
        return "IDLE"


@dataclass(eq=False)
class JobRecord:
    """One job, or with ``tasks`` the waiting tasks of an array.

    ``run_seconds``: how long it runs when nobody ends it. ``wanted_node``: the -w of its submission.
    """

    job_id: int
    array_job_id: int
    cpus_per_node: int
    memory_per_node: int | None
    node_count: int
    exclusive: bool
    feature: str
    wanted_node: str
    run_seconds: float
    submit_time: int
    state: str = PENDING
    reason: str = "None"
    tasks: int | None = None
    throttle: int | None = None
    held_by: str = ""
    begin_time: float = 0.0
    depends_on: int | None = None
    nodes: tuple[NodeRecord, ...] = ()
    start_time: int | None = None
    end_time: int | None = None
    node_names: tuple[str, ...] = ()
    left_seconds: float = 0.0
    resumed_at: float = 0.0
    shown: SlurmJob | None = None

    @property
    def is_finished(self) -> bool:
        return self.state in FINISHED_STATES

    def show(self) -> SlurmJob:
        """The record as the pool's squeue call prints it."""
        if self.shown is None:
            memory = None if self.memory_per_node is None else self.memory_per_node * self.node_count
            waits = self.state == PENDING
            self.shown = SlurmJob(
                job_id=self.job_id,
                array_job_id=self.array_job_id,
                tasks=ArrayTasks(self.tasks, self.throttle) if waits and self.tasks is not None else None,
                user="alice",
                state=self.state,
                partitions=("main",),
                node_count=self.node_count,
                cpus=self.cpus_per_node * self.node_count,
                memory_mib=memory,
                gpus=0,
                feature_expression=self.feature,
                required_nodes=(self.wanted_node,) if self.wanted_node else (),
                nodes=self.node_names,
                exclusive=self.exclusive,
                submit_time=self.submit_time,
                start_time=self.start_time,
                end_time=self.end_time,
                reason=self.reason if waits else "None",
                name=b"job",
            )
        return self.shown
