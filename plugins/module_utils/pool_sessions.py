# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sessions on a worker, and the nodes of the cluster with and without a job. Pure."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import transliterate
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob

SESSION_USERS_CHARACTERS = 4000
USER_CHARACTERS = 64

# A completing job's session is over; its node is not free yet.
_OVER = "COMPLETING"
_SEPARATORS = str.maketrans({";": "_", ":": "_"})


def sessions_on(slurm: SlurmReading, node_name: str) -> tuple[SlurmJob, ...]:
    """The jobs that run on a node, suspended ones too, the longest running first."""
    running = (job for job in slurm.live_jobs_on(node_name) if job.state != _OVER)
    return tuple(sorted(running, key=lambda job: (job.start_time or 0, job.job_id)))


def session_users(sessions: Iterable[SlurmJob]) -> str:
    """``user:2026-11-30T12:00:00Z;...`` in the order given, "" for none, in a form that OneGate takes.

    Ends with the last session that fits into SESSION_USERS_CHARACTERS. A start that is not known is left empty.
    """
    text = ""
    for job in sessions:
        longer = f"{text};{_session(job)}" if text else _session(job)
        if len(longer) > SESSION_USERS_CHARACTERS:
            break
        text = longer
    return text


def node_counts(slurm: SlurmReading) -> tuple[int, int]:
    """Nodes without a job and nodes with one, placeholders aside, drained and lost ones included."""
    with_job = sum(1 for node in slurm.machines if slurm.live_jobs_on(node.name))
    return len(slurm.machines) - with_job, with_job


def _session(job: SlurmJob) -> str:
    user = transliterate(job.user, USER_CHARACTERS).translate(_SEPARATORS) or "_"
    start = "" if job.start_time is None else datetime.fromtimestamp(job.start_time, timezone.utc)
    return f"{user}:{start:%Y-%m-%dT%H:%M:%SZ}" if start else f"{user}:"
