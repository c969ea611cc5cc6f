# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs that end when their control file says so: what is told with them waits on conditions, never on guessed times."""

from __future__ import annotations

from tests.service.cluster import Cluster
from tests.service.progress import Progress

# The file is opened anew for each look: NFS then asks the server, which it need not for a mere test of existence.
JOB_SCRIPT = """#!/bin/bash
echo "boot_id $(cat /proc/sys/kernel/random/boot_id)"
echo "hostname $(hostname)"
until grep --quiet end {control}; do sleep 1; done
echo "done"
"""


class HeldJobs:
    """Submits jobs of the cluster's user and tells them to end."""

    def __init__(self, cluster: Cluster, progress: Progress):
        self._cluster = cluster
        self._progress = progress

    def submit(self, name: str, *options: str) -> int:
        """Submit a job; returns its id."""
        self._cluster.write_home(f"{name}.control", "go on\n")
        job_id = self._cluster.submit(name, JOB_SCRIPT.format(control=f"{name}.control"), *options)
        self._progress.tell(f"{self._cluster.user} submitted job {job_id} ({name})")
        return job_id

    def end(self, name: str) -> None:
        """Tell the job of that name to end."""
        self._cluster.write_home(f"{name}.control", "end\n")
        self._progress.tell(f"the {name} job is told to end")
