# SPDX-License-Identifier: GPL-3.0-or-later
"""What is on record about the jobs: the completion log on the state export, and the accounting database."""

from __future__ import annotations

from collections.abc import Iterable

from tests.service.cluster import RunOnPortal
from tests.service.progress import NotYet, Progress
from tests.service.slurm_text import records

COMPLETION_LOG = "/var/lib/onehpc/state/jobcomp/jobcomp.log"


def completed(run_on_portal: RunOnPortal, name: str) -> dict[int, str]:
    """Job id -> state of the jobs called `name` that the completion log has."""
    lines = run_on_portal(f"grep ' Name={name} ' {COMPLETION_LOG} || test $? = 1").stdout
    return {int(record["JobId"]): record["JobState"] for record in records(lines, "JobId")}


def accounted(run_on_portal: RunOnPortal, job_ids: Iterable[int]) -> dict[int, str]:
    """Job id -> state of those of the jobs that sacct has (CANCELLED without the user who did)."""
    ids = ",".join(map(str, job_ids))
    lines = run_on_portal(f"sacct -X -n -P -j {ids} -o JobIDRaw,State").stdout.splitlines()
    fields = (line.split("|") for line in lines)
    return {int(job_id): state.partition(" ")[0] for job_id, state in fields}


def wait_accounted(run_on_portal: RunOnPortal, progress: Progress, expected: dict[int, str]) -> None:
    """Wait until sacct has each of the jobs in the state expected: slurmctld sends its records a moment later."""

    def equal() -> bool:
        found = accounted(run_on_portal, expected)
        if found == expected:
            return True
        different = sorted(job_id for job_id in expected if found.get(job_id) != expected[job_id])
        raise NotYet(f"{len(different)} jobs differ, job {different[0]} is {found.get(different[0], 'missing')}")

    progress.wait_for(f"{len(expected)} jobs to be on record", equal, timeout_seconds=60)
