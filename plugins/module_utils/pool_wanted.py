# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How many more workers a role needs so that every counted job can start. Pure.

Jobs are packed in the order of the queue, each onto the first worker with room. That is how slurmctld fills nodes in
the main, and a job more at the end of the queue never makes the number smaller, which cleverer packings do not give.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Iterable, Sequence

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import (
    counted_jobs,
    fits,
    node_share,
    request_of,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape, shape_of_node
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# In this time slurmctld has looked at every job and every free node several times (backfill does every 30 s).
PASSED_OVER_SECONDS = 180


def wanted_workers(view: RoleView, shapes: Sequence[WorkerShape], now: int | None = None) -> int:
    """Workers of the role still needed to start every job that pool_pending counts; 0 when nothing waits.

    shapes: what a worker of the role offers; a new worker is taken to be the smallest of them that fits the job.
    now: Unix seconds of the reading.
    Nodes that would take a job at once are filled first, and workers that still boot are subtracted. The free rest of
    a node that has a job is not used: slurmctld has looked at it and the job waits all the same. Neither is, when now
    is given, a free node for a job on one node when both have been there for long: it does not take the job, whatever
    the cause (the job may exclude it). So the number may be a little too large, never so small that a job waits for
    ever. Nodes that are drained do not count as free.
    """
    packing = _Packing(view.free_nodes, shapes, now)
    for job, startable in counted_jobs(view.slurm.jobs, shapes, view.pool_size):
        packing.place(job, startable)
    return max(0, packing.new_workers - view.booting_workers)


@dataclass(frozen=True)
class _Need:
    """A job's share of each of ``node_count`` workers. needs_all_memory: none of it may be in use before.

    was_passed_over: it waits for so long that a node which has been free for long is none for it.
    """

    job: SlurmJob
    request: tuple
    node_count: int
    cpus: int
    memory_mib: int
    gpus: int
    needs_all_memory: bool
    was_passed_over: bool


@dataclass
class _Room:
    """What is left on one worker of this shape. is_long_free: the worker exists and could have taken jobs for long."""

    shape: WorkerShape
    cpus: int
    memory_mib: int
    gpus: int
    is_long_free: bool = False
    is_empty: bool = True

    def take(self, need: _Need) -> None:
        """Give the job its share; an exclusive job takes everything, --mem=0 all memory."""
        self.cpus -= self.cpus if need.job.exclusive else need.cpus
        self.gpus -= self.gpus if need.job.exclusive else need.gpus
        self.memory_mib -= self.memory_mib if need.needs_all_memory else need.memory_mib
        self.is_empty = False


class _Packing:
    """new_workers: how many had to be added to the free nodes so far."""

    def __init__(self, free_nodes: Iterable[SlurmNode], shapes: Iterable[WorkerShape], now: int | None):
        self._now = now
        self._rooms = [_room(shape_of_node(node), self._is_long(node.last_busy_time)) for node in free_nodes]
        self._shapes = sorted(shapes, key=lambda shape: (shape.cpus, shape.gpus, shape.memory_mib))
        self._fitting: dict[tuple, bool] = {}
        # Rooms only fill up, so where a request found no room once it need not look again.
        self._first_open = 0
        self._first_for: dict[tuple, int] = {}
        self.new_workers = 0

    def place(self, job: SlurmJob, count: int) -> None:
        """Give `count` equal jobs their share of ``job.node_count`` workers each."""
        was_passed_over = job.node_count == 1 and self._is_long(job.submit_time)
        need = _need(job, was_passed_over)
        for _task in range(count):
            found = self._rooms_for(need)
            found += [self._new_room(job) for _missing in range(job.node_count - len(found))]
            for room in found:
                room.take(need)

    def _rooms_for(self, need: _Need) -> list[_Room]:
        """The first rooms that can take the job, at most as many as it needs."""
        while self._first_open < len(self._rooms) and self._rooms[self._first_open].cpus <= 0:
            self._first_open += 1
        start = max(self._first_open, self._first_for.get(need.request, 0))
        cpus, memory_mib, gpus = need.cpus, need.memory_mib, need.gpus
        indexes = (
            index
            for index, room in enumerate(islice(self._rooms, start, None), start)
            if room.cpus >= cpus
            and room.memory_mib >= memory_mib
            and room.gpus >= gpus
            and (room.is_empty or not need.needs_all_memory)
            and not (room.is_long_free and need.was_passed_over)
            and self._fits(need, room.shape)
        )
        found = list(islice(indexes, need.node_count))
        self._first_for[need.request] = found[0] if found else len(self._rooms)
        return [self._rooms[index] for index in found]

    def _fits(self, need: _Need, shape: WorkerShape) -> bool:
        key = (need.request, shape)
        if key not in self._fitting:
            self._fitting[key] = fits(need.job, shape)
        return self._fitting[key]

    def _is_long(self, since: int | None) -> bool:
        return self._now is not None and since is not None and self._now - since > PASSED_OVER_SECONDS

    def _new_room(self, job: SlurmJob) -> _Room:
        room = _room(next(shape for shape in self._shapes if fits(job, shape)))
        self._rooms.append(room)
        self.new_workers += 1
        return room


def _need(job: SlurmJob, was_passed_over: bool) -> _Need:
    return _Need(
        job=job,
        request=(request_of(job), was_passed_over),
        node_count=job.node_count,
        cpus=node_share(job.cpus, job),
        memory_mib=node_share(job.memory_mib or 0, job),
        gpus=node_share(job.gpus, job),
        needs_all_memory=job.exclusive or job.memory_mib is None,
        was_passed_over=was_passed_over,
    )


def _room(shape: WorkerShape, is_long_free: bool = False) -> _Room:
    return _Room(shape, shape.cpus, shape.memory_mib, shape.gpus, is_long_free)
