# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One complete reading of Slurm, and the questions that decisions ask of it."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


@dataclass(frozen=True)
class SlurmReading:
    """Every node and every job that slurmctld knows, read one after the other.

    A node's state alone does not tell whether it is empty: on 22.05 a node that holds only a suspended job is IDLE.
    """

    nodes: tuple[SlurmNode, ...]
    jobs: tuple[SlurmJob, ...]

    @property
    def machines(self) -> tuple[SlurmNode, ...]:
        """Every node that stands for a machine, so no placeholder."""
        return tuple(node for node in self.nodes if not node.is_future)

    def node(self, name: str) -> SlurmNode | None:
        """The node of that name, placeholder or not."""
        return next((node for node in self.nodes if node.name == name), None)

    def machine(self, name: str) -> SlurmNode | None:
        """The node of that name if it stands for a machine."""
        return next((node for node in self.machines if node.name == name), None)

    def live_jobs_on(self, name: str) -> tuple[SlurmJob, ...]:
        """Jobs that hold the node: running, suspended, completing, configuring or in a state not known here."""
        return tuple(job for job in self.jobs if job.is_live and name in job.nodes)

    def pending_jobs_naming(self, name: str) -> tuple[SlurmJob, ...]:
        """Waiting jobs, held ones too, that asked for this very node."""
        return tuple(job for job in self.jobs if job.is_pending and name in job.required_nodes)

    def last_end_on(self, name: str, now: int) -> int | None:
        """When the last finished job of the node ended, as far as slurmctld still knows (MinJobAge)."""
        ends = [
            job.end_time
            for job in self.jobs
            if job.is_finished and name in job.nodes and job.end_time is not None and job.end_time <= now
        ]
        return max(ends, default=None)
