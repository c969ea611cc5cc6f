# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One complete reading of Slurm, and the questions that decisions ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Callable, Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


@dataclass(frozen=True)
class SlurmReading:
    """Every node and every job that slurmctld knows, read one after the other.

    A node's state alone does not tell whether it is empty: on 22.05 a node that holds only a suspended job is IDLE.
    Questions about one name are answered from an index that is made once.
    """

    nodes: tuple[SlurmNode, ...]
    jobs: tuple[SlurmJob, ...]

    @cached_property
    def machines(self) -> tuple[SlurmNode, ...]:
        """Every node that stands for a machine, so no placeholder."""
        return tuple(node for node in self.nodes if not node.is_future)

    def node(self, name: str) -> SlurmNode | None:
        """The node of that name, placeholder or not."""
        return self._node_of.get(name)

    def machine(self, name: str) -> SlurmNode | None:
        """The node of that name if it stands for a machine."""
        node = self.node(name)
        return None if node is None or node.is_future else node

    def live_jobs_on(self, name: str) -> tuple[SlurmJob, ...]:
        """Jobs that hold the node: running, suspended, completing, configuring or in a state not known here."""
        return self._live_jobs_of.get(name, ())

    def pending_jobs_naming(self, name: str) -> tuple[SlurmJob, ...]:
        """Waiting jobs, held ones too, that asked for this very node."""
        return self._pending_jobs_of.get(name, ())

    def last_end_on(self, name: str, now: int) -> int | None:
        """When the last finished job of the node ended, as far as slurmctld still knows (MinJobAge)."""
        ends = [
            job.end_time
            for job in self._finished_jobs_of.get(name, ())
            if job.end_time is not None and job.end_time <= now
        ]
        return max(ends, default=None)

    @cached_property
    def _node_of(self) -> dict[str, SlurmNode]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _live_jobs_of(self) -> dict[str, tuple[SlurmJob, ...]]:
        return _by_node((job for job in self.jobs if job.is_live), lambda job: job.nodes)

    @cached_property
    def _pending_jobs_of(self) -> dict[str, tuple[SlurmJob, ...]]:
        return _by_node((job for job in self.jobs if job.is_pending), lambda job: job.required_nodes)

    @cached_property
    def _finished_jobs_of(self) -> dict[str, tuple[SlurmJob, ...]]:
        return _by_node((job for job in self.jobs if job.is_finished), lambda job: job.nodes)


def _by_node(jobs: Iterable[SlurmJob], names: Callable[[SlurmJob], tuple[str, ...]]) -> dict[str, tuple[SlurmJob, ...]]:
    found: dict[str, list[SlurmJob]] = {}
    for job in jobs:
        for name in dict.fromkeys(names(job)):
            found.setdefault(name, []).append(job)
    return {name: tuple(jobs_there) for name, jobs_there in found.items()}
