# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm as seen from the portal: jobs, nodes, and submitting as a user."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable

from tests.service.progress import NotYet, Progress, ServiceError
from tests.service.slurm_text import is_live, records

NODE_PREFIX = "ood-worker-"

# Runs a shell command on the portal as root; options as `Lab.run` takes them.
RunOnPortal = Callable[..., subprocess.CompletedProcess]


def node_name(vm_id: int) -> str:
    """Slurm's name for a worker."""
    return f"{NODE_PREFIX}{vm_id}"


class Cluster:
    """See the module."""

    def __init__(self, run_on_portal: RunOnPortal, progress: Progress, user: str):
        self._run = run_on_portal
        self._progress = progress
        self.user = user

    def as_user(self, command: str, **options) -> subprocess.CompletedProcess:
        """Run a shell command on the portal in a login shell of the user, so in the home."""
        return self._run(shlex.join(["runuser", "--login", self.user, "--command", command]), **options)

    def scontrol(self, *arguments: str) -> str:
        """Output of `scontrol --oneliner ...` with times in Unix seconds."""
        return self._run(f"SLURM_TIME_FORMAT=%s scontrol --oneliner {shlex.join(arguments)}").stdout

    def submit(self, name: str, script: str, *options: str) -> int:
        """Submit `script` as the user; its output goes to NAME.out in the home. Returns the job id."""
        command = shlex.join(["sbatch", "--parsable", f"--job-name={name}", f"--output={name}.out", *options])
        return int(self.as_user(command, input=script).stdout.strip())

    def write_home(self, file: str, text: str) -> None:
        """Write a file of the user's home."""
        self.as_user(f"cat > {shlex.quote(file)}", input=text)

    def read_home(self, file: str) -> str:
        """Text of a file of the user's home."""
        return self.as_user(f"cat {shlex.quote(file)}").stdout

    def job(self, job_id: int) -> dict[str, str]:
        """The job's record."""
        return records(self.scontrol("show", "job", str(job_id)), "JobId")[0]

    def jobs(self) -> list[dict[str, str]]:
        """All records slurmctld still has."""
        return records(self.scontrol("show", "job"), "JobId")

    def nodes(self) -> dict[str, dict[str, str]]:
        """Node name -> record, of registered nodes: the placeholders (state FUTURE) are left out."""
        listed = records(self.scontrol("show", "node"), "NodeName")
        return {node["NodeName"]: node for node in listed if not node["State"].startswith("FUTURE")}

    def wait_job(self, job_id: int, state: str, timeout_seconds: float) -> dict[str, str]:
        """Wait until the job is in `state` and return its record; ServiceError when it ended otherwise."""

        def read() -> dict[str, str]:
            job = self.job(job_id)
            if job["JobState"] == state:
                return job
            if not is_live(job):
                raise ServiceError(f"job {job_id} is {job['JobState']} ({job['Reason']}), expected {state}")
            raise NotYet(f"{job['JobState']} ({job['Reason']})")

        return self._progress.wait_for(f"job {job_id} to be {state}", read, timeout_seconds=timeout_seconds)
