# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The attributes that workers publish: figures for OneFlow's elasticity rules and for whoever watches the pool."""

from __future__ import annotations

from dataclasses import dataclass

ACTIVE_SESSIONS = "ACTIVE_SESSIONS"
HEALTHY = "HEALTHY"
IDLE_SECONDS = "IDLE_SECONDS"
OLDEST_IDLE = "OLDEST_IDLE"
REPORT_TIME = "REPORT_TIME"
SESSION_USERS = "SESSION_USERS"
SLURM_ALLOC_NODES = "SLURM_ALLOC_NODES"
SLURM_IDLE_NODES = "SLURM_IDLE_NODES"
SLURM_NODENAME = "SLURM_NODENAME"
SLURM_PENDING = "SLURM_PENDING"
SLURM_WANTED = "SLURM_WANTED"


@dataclass(frozen=True)
class WorkerFigures:
    """What one tick publishes. None: not known now, so that what was published last stays.

    slurm_pending: jobs that wait for a worker of this role, the same on every worker of it.
    oldest_idle: 1 when OneFlow may remove the oldest worker of the role, the same on every worker of it.
    slurm_wanted: workers of this role still needed to start those jobs.
    healthy: 1 when home mount, software catalogue, munge and slurmd of this worker are all ready.
    active_sessions: jobs that run on this worker. idle_seconds: since the last one ended, 0 while there is one.
    slurm_idle_nodes, slurm_alloc_nodes: nodes of the cluster, in whatever state, without a job and with one.
    session_users: user and start of each job on this worker, as session_users() writes them.
    """

    slurm_pending: int
    oldest_idle: int
    slurm_wanted: int
    healthy: int
    active_sessions: int | None = None
    idle_seconds: int | None = None
    slurm_idle_nodes: int | None = None
    slurm_alloc_nodes: int | None = None
    session_users: str | None = None

    def attributes(self) -> dict[str, int | str]:
        """The known figures by the names that they are published under."""
        named = {
            SLURM_PENDING: self.slurm_pending,
            OLDEST_IDLE: self.oldest_idle,
            SLURM_WANTED: self.slurm_wanted,
            HEALTHY: self.healthy,
            ACTIVE_SESSIONS: self.active_sessions,
            IDLE_SECONDS: self.idle_seconds,
            SLURM_IDLE_NODES: self.slurm_idle_nodes,
            SLURM_ALLOC_NODES: self.slurm_alloc_nodes,
            SESSION_USERS: self.session_users,
        }
        return {name: value for name, value in named.items() if value is not None}


def neutral_figures(report_time: int) -> dict[str, int]:
    """Figures by which OneFlow neither adds nor removes anything, of a worker that cannot tell how it is.

    Numbers, never empty or erased: OneFlow counts text as 0 but leaves a VM without the attribute out of the mean,
    and the mean of the others would then decide alone.
    """
    return {SLURM_PENDING: 0, OLDEST_IDLE: 0, SLURM_WANTED: 0, HEALTHY: 0, REPORT_TIME: report_time}
