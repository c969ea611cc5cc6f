# SPDX-License-Identifier: GPL-3.0-or-later
"""A slurmctld with dynamic nodes, as far as a pool can see one; it obeys the recordings of 22.05 and 24.11."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.opennebula.clock import Clock, Timer
from tests.simulation import slurm_scheduler
from tests.simulation.slurm_records import COMPLETING, PENDING, RUNNING, SUSPENDED, JobRecord, NodeRecord

MIN_JOB_AGE_SECONDS = 300
SCHEDULER_PAUSE_SECONDS = 1.0
BACKFILL_SECONDS = 30.0
#: From the loss of a slurmd: the node is NOT_RESPONDING, then DOWN.
SILENT_SECONDS = (20.0, 50.0)
DOWN_SECONDS = (62.0, 90.0)
RETURN_SECONDS = 4.0
EPILOG_SECONDS = (0.5, 12.0)
NOT_RESPONDING = "Not responding"
SLURM_USER = "slurm"


class NodeIsBusy(Exception):
    """Requested nodes are busy."""


class SlurmModel:
    """The controller and what it knows.

    ``on_end(job, how)`` hears of each job that leaves its nodes; ``on_start(job)`` of each that starts;
    ``crashes`` counts what would have killed slurmctld.
    """

    def __init__(self, clock: Clock, random: Random, version: str) -> None:
        self.clock = clock
        self.random = random
        self.version = version
        self.is_up = True
        self.nodes: dict[str, NodeRecord] = {}
        self.jobs: dict[int, JobRecord] = {}
        self.crashes = 0
        self.on_start: Callable[[JobRecord], None] = lambda job: None
        self.on_end: Callable[[JobRecord, str], None] = lambda job, how: None
        self._living: set[str] = set()
        self._next_job = 1
        self._wake: Timer | None = None
        self._losses: dict[str, list[Timer]] = {}
        self._missed: list[Callable[[], None]] = []
        self._shown_nodes: dict[bool, tuple] = {}
        self._shown_jobs: tuple | None = None
        clock.call_later(BACKFILL_SECONDS, self._backfill)

    # --- what is shown ---

    def show_nodes(self, with_placeholders: bool) -> tuple:
        """``scontrol show node``."""
        if with_placeholders not in self._shown_nodes:
            shows_suspended = self.version != "22.05"
            self._shown_nodes[with_placeholders] = tuple(
                node.show(shows_suspended) for node in self.nodes.values() if with_placeholders or not node.is_future
            )
        return self._shown_nodes[with_placeholders]

    def show_jobs(self) -> tuple:
        """``squeue``; what has ended long ago is forgotten."""
        if self._shown_jobs is None:
            oldest = self.clock.now() - MIN_JOB_AGE_SECONDS
            for job in [job for job in self.jobs.values() if job.is_finished and (job.end_time or 0) < oldest]:
                del self.jobs[job.job_id]
            self._shown_jobs = tuple(job.show() for job in self.jobs.values())
        return self._shown_jobs

    def touch(self, *records: NodeRecord | JobRecord) -> None:
        """Something of these records has changed."""
        for record in records:
            record.shown = None
        self._shown_jobs = None
        self._shown_nodes.clear()

    # --- nodes ---

    def create_placeholder(self, name: str, cpus: int, memory_mib: int, features: frozenset[str]) -> None:
        self.nodes[name] = NodeRecord(name, cpus, memory_mib, features, is_future=True)
        self.touch(self.nodes[name])

    def register(self, name: str, address: str, cpus: int, memory_mib: int, features: frozenset[str]) -> None:
        """A slurmd reports for the first time, or after its restart."""
        now = int(self.clock.now())
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = NodeRecord(
                name, cpus, memory_mib, features, address=address, boot_time=now, last_busy=now
            )
        node.boot_time = now
        self._living.add(name)
        self._hears(node)

    def has_slurmd(self, name: str) -> bool:
        """Whether the node's machine runs a slurmd that can be reached."""
        return name in self._living

    def lose(self, name: str, jobs_die: bool, how: str = "") -> list[JobRecord]:
        """The node's slurmd is no more, or cut off; returns the jobs that die with its machine."""
        self._living.discard(name)
        node = self.nodes.get(name)
        if node is None:
            return []
        dying = [job for job in node.jobs if job.state in (RUNNING, SUSPENDED)] if jobs_die else []
        for job in dying:
            job.run_seconds = float("inf")
        silent = self.random.uniform(*SILENT_SECONDS)
        down = self.random.uniform(*DOWN_SECONDS)
        self._losses[name] = [
            self.clock.call_later(silent, lambda: self._when_up(lambda: self._is_silent(node))),
            self.clock.call_later(down, lambda: self._when_up(lambda: self._is_down(node))),
        ]
        return dying

    def find(self, name: str) -> None:
        """A slurmd that was cut off is reached again."""
        node = self.nodes.get(name)
        self._living.add(name)
        if node is not None:
            self._when_up(lambda: self._hears(node))

    def _hears(self, node: NodeRecord) -> None:
        for timer in self._losses.pop(node.name, []):
            timer.cancel()
        if self.nodes.get(node.name) is not node:
            return
        if node.is_down and not node.is_drained:
            node.reason = node.reason_user = ""
            node.reason_time = None
        node.is_silent = node.is_down = False
        self.touch(node)
        self.wake()

    def _is_silent(self, node: NodeRecord) -> None:
        if node.name not in self._living and self.nodes.get(node.name) is node:
            node.is_silent = True
            self.touch(node)

    def _is_down(self, node: NodeRecord) -> None:
        if node.name not in self._living and self.nodes.get(node.name) is node:
            self._set_down(node, NOT_RESPONDING, SLURM_USER)
            node.is_silent = True

    def _set_down(self, node: NodeRecord, reason: str, user: str) -> None:
        if not node.reason or user != SLURM_USER:
            node.reason, node.reason_user, node.reason_time = reason, user, int(self.clock.now())
        node.is_down = True
        for job in list(node.jobs):
            self._end(job, "NODE_FAIL", at_once=True)
        self.touch(node)
        self.wake()

    def drain(self, name: str, reason: str, user: str = "root") -> None:
        node = self.nodes[name]
        node.is_drained = True
        node.reason, node.reason_user, node.reason_time = reason, user, int(self.clock.now())
        self.touch(node)
        self.wake()

    def undrain(self, name: str) -> None:
        """Idle time counts from here; 22.05 shows the node as silent until it has reported again."""
        node = self.nodes[name]
        if node.is_drained or node.reason:
            node.is_drained = False
            node.reason = node.reason_user = ""
            node.reason_time = None
            node.last_busy = int(self.clock.now())
        self.touch(node)
        self.wake()

    def set_down(self, name: str, reason: str) -> None:
        node = self.nodes[name]
        self._set_down(node, reason, "root")
        if name in self._living:
            self.clock.call_later(RETURN_SECONDS, lambda: self._when_up(lambda: self._comes_back(node)))

    def _comes_back(self, node: NodeRecord) -> None:
        if node.name in self._living:
            self._hears(node)

    def delete(self, name: str) -> None:
        """:raises NodeIsBusy: a job runs or ends on it."""
        node = self.nodes.get(name)
        if node is None:
            return
        states = {job.state for job in node.jobs}
        if states & {RUNNING, COMPLETING}:
            raise NodeIsBusy(name)
        if SUSPENDED in states:
            self.crashes += 1
        del self.nodes[name]
        self._shown_nodes.clear()
        self.wake()

    # --- the controller itself ---

    def pause(self) -> None:
        self.is_up = False

    def go_on(self) -> None:
        """Everything that it was told meanwhile is told again; 22.05 forgets since when its nodes are idle."""
        self.is_up = True
        missed, self._missed = self._missed, []
        for call in missed:
            call()
        if self.version == "22.05":
            for node in self.nodes.values():
                if node.last_busy is not None:
                    node.last_busy = int(self.clock.now())
                    node.shown = None
        self.touch()
        self.wake()

    def _when_up(self, call: Callable[[], None]) -> None:
        if self.is_up:
            call()
        else:
            self._missed.append(call)

    # --- jobs ---

    def submit(self, **request) -> JobRecord:
        """A new job; its fields are those of the record."""
        job = JobRecord(
            job_id=self._next_job, array_job_id=self._next_job, submit_time=int(self.clock.now()), **request
        )
        self._next_job += 1
        job.left_seconds = job.run_seconds
        self.jobs[job.job_id] = job
        self.touch()
        self.wake()
        return job

    def start(self, job: JobRecord, nodes: list[NodeRecord]) -> None:
        """Called by the scheduler: the job, or one task of its array, takes these nodes."""
        if job.tasks is not None:
            job.tasks -= 1
            job.shown = None
            task = JobRecord(
                job_id=job.job_id if job.tasks == 0 else self._next_job,
                array_job_id=job.array_job_id,
                cpus_per_node=job.cpus_per_node,
                memory_per_node=job.memory_per_node,
                node_count=job.node_count,
                exclusive=job.exclusive,
                feature=job.feature,
                wanted_node=job.wanted_node,
                run_seconds=job.run_seconds,
                submit_time=job.submit_time,
            )
            self._next_job += job.tasks > 0
            task.left_seconds = task.run_seconds
            self.jobs[task.job_id] = task
            job = task
        now = self.clock.now()
        job.state, job.start_time, job.resumed_at = RUNNING, int(now), now
        job.nodes = tuple(nodes)
        job.node_names = tuple(node.name for node in nodes)
        for node in nodes:
            node.jobs.append(job)
        self.touch(job, *nodes)
        self.on_start(job)
        self._plan_end(job)

    def _plan_end(self, job: JobRecord) -> None:
        resumed_at = job.resumed_at
        if job.left_seconds == float("inf"):
            return

        def over() -> None:
            if job.state == RUNNING and job.resumed_at == resumed_at and job.run_seconds != float("inf"):
                self._end(job, "COMPLETED")

        self.clock.call_later(job.left_seconds, lambda: self._when_up(over))

    def _end(self, job: JobRecord, state: str, at_once: bool = False) -> None:
        """The job's processes are gone; its nodes are held until their epilogs are over."""
        if job.is_finished:
            return
        if job.state == COMPLETING and not at_once:
            return
        before = job.state
        job.end_time = int(self.clock.now())
        job.shown = None
        self.on_end(job, state if before != COMPLETING else "COMPLETED")
        if at_once or not job.nodes:
            self._release(job, state)
            return
        job.state = COMPLETING
        self.touch(job, *job.nodes)
        self.clock.call_later(
            self.random.uniform(*EPILOG_SECONDS), lambda: self._when_up(lambda: self._epilog_over(job, state))
        )

    def _epilog_over(self, job: JobRecord, state: str) -> None:
        if job.state != COMPLETING:
            return
        if any(node.name not in self._living for node in job.nodes):
            self.clock.call_later(10, lambda: self._when_up(lambda: self._epilog_over(job, state)))
            return
        self._release(job, state)

    def _release(self, job: JobRecord, state: str) -> None:
        job.state = state
        for node in job.nodes:
            if job in node.jobs:
                node.jobs.remove(job)
            node.last_busy = int(self.clock.now())
        self.touch(job, *job.nodes)
        job.nodes = ()
        self.wake()

    def cancel(self, job: JobRecord) -> None:
        if job.state == PENDING:
            job.end_time, job.state = int(self.clock.now()), "CANCELLED"
            self.touch(job)
            self.wake()
        elif job.state in (RUNNING, SUSPENDED):
            self._end(job, "CANCELLED")

    def hold(self, job: JobRecord, by: str) -> None:
        if job.state == PENDING:
            job.held_by, job.reason = by, f"JobHeld{by}"
            self.touch(job)
            self.wake()

    def release(self, job: JobRecord) -> None:
        if job.state == PENDING and job.held_by:
            job.held_by, job.reason = "", "None"
            self.touch(job)
            self.wake()

    def suspend(self, job: JobRecord) -> None:
        """Its cores are free, its memory is not; the node's idle time counts from now, as on both versions."""
        if job.state == RUNNING:
            job.left_seconds = max(1.0, job.left_seconds - (self.clock.now() - job.resumed_at))
            job.state = SUSPENDED
            for node in job.nodes:
                node.last_busy = int(self.clock.now())
            self.touch(job, *job.nodes)
            self.wake()

    def resume(self, job: JobRecord) -> None:
        if job.state == SUSPENDED:
            job.state, job.resumed_at = RUNNING, self.clock.now()
            self.touch(job, *job.nodes)
            self._plan_end(job)

    # --- scheduling ---

    def wake(self) -> None:
        """Something has changed: the scheduler looks soon."""
        if self._wake is None:
            self._wake = self.clock.call_later(SCHEDULER_PAUSE_SECONDS, self._schedule)

    def _schedule(self) -> None:
        self._wake = None
        if self.is_up:
            slurm_scheduler.run(self, backfill=False)

    def _backfill(self) -> None:
        if self.is_up:
            slurm_scheduler.run(self, backfill=True)
        self.clock.call_later(BACKFILL_SECONDS, self._backfill)
