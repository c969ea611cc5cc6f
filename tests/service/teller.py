# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells the demo's story: a waiting job brings a second worker, an idle one goes, and no job notices."""

from __future__ import annotations

from tests.opennebula.states import VmState
from tests.service.accounting import accounted, wait_accounted
from tests.service.cluster import node_name
from tests.service.held_jobs import HeldJobs
from tests.service.progress import NotYet
from tests.service.service import Service
from tests.service.slurm_text import reason_time
from tests.service.story import OUR_DRAIN, Story

# One job fills a worker of the lab.
JOB_OPTIONS = ("--ntasks=1", "--mem=100")


class Teller:
    """Runs the story on a service that is RUNNING with one worker."""

    def __init__(self, service: Service):
        self.service = service
        self.cluster = service.cluster
        self.progress = service.progress
        self.jobs = HeldJobs(service.cluster, service.progress)
        self.story = Story()

    def tell(self) -> Story:
        """The whole story; ServiceError says at which step it did not come true."""
        self.service.make_user_home()
        self._fill_the_only_worker()
        self._let_a_job_wait_for_a_second_worker()
        self._let_the_oldest_worker_go()
        self._end_the_second_job()
        first = int(self.story.first_job["JobId"])
        self.story.all_jobs = [job for job in self.cluster.jobs() if int(job["JobId"]) >= first]
        self._read_accounting()
        self.story.events = self.service.client.events()
        return self.story

    def _fill_the_only_worker(self) -> None:
        story = self.story
        story.first_worker = self.service.single("worker")
        job_id = self.jobs.submit("first", *JOB_OPTIONS)
        story.first_job = self.cluster.wait_job(job_id, "RUNNING", 60)
        story.first_node = self.cluster.nodes()[node_name(story.first_worker)]
        self._read_kernel(story.first_worker)

    def _let_a_job_wait_for_a_second_worker(self) -> None:
        story = self.story
        job_id = self.jobs.submit("second", *JOB_OPTIONS)
        story.second_job_waiting = self.progress.wait_for(
            f"job {job_id} to have a reason for waiting", lambda: self._waiting(job_id), timeout_seconds=60
        )
        self.progress.tell(f"job {job_id} waits: {story.second_job_waiting['Reason']}")
        story.second_worker = self.progress.wait_for(
            "OneFlow to add a second worker", self._newest_of_two, timeout_seconds=180
        )
        story.second_job_started = self.cluster.wait_job(job_id, "RUNNING", 300)
        story.second_node = self.cluster.nodes()[node_name(story.second_worker)]
        self._read_kernel(story.second_worker)

    def _let_the_oldest_worker_go(self) -> None:
        story = self.story
        job_id = int(story.first_job["JobId"])
        self.jobs.end("first")
        story.first_job = self.cluster.wait_job(job_id, "COMPLETED", 60)
        story.job_output["first"] = self.cluster.read_home("first.out")
        story.first_node_drained = self.progress.wait_for(
            f"the idle worker {node_name(story.first_worker)} to be drained",
            lambda: self._drained(story.first_worker),
            timeout_seconds=400,
        )
        self.progress.wait_for(
            f"OneFlow to remove VM {story.first_worker}",
            lambda: int(self.service.client.vm(story.first_worker)["STATE"]) == VmState.DONE,
            timeout_seconds=400,
        )
        story.nodes_after_removal = self.progress.wait_for(
            f"node {node_name(story.first_worker)} to be deleted", self._nodes_without_the_first, timeout_seconds=240
        )
        story.node_gone_time = float(self.service.run_on_portal("date +%s.%N").stdout)
        story.second_job_after_removal = self.cluster.job(int(story.second_job_started["JobId"]))

    def _end_the_second_job(self) -> None:
        story = self.story
        self.jobs.end("second")
        story.second_job = self.cluster.wait_job(int(story.second_job_started["JobId"]), "COMPLETED", 60)
        story.job_output["second"] = self.cluster.read_home("second.out")

    def _read_accounting(self) -> None:
        run = self.service.run_on_portal
        expected = {int(job["JobId"]): job["JobState"] for job in self.story.all_jobs}
        wait_accounted(run, self.progress, expected)
        self.story.accounted = accounted(run, expected)

    # -- readings -------------------------------------------------------------------------------------------------

    def _read_kernel(self, vm_id: int) -> None:
        boot_id = self.service.run(vm_id, "cat /proc/sys/kernel/random/boot_id").stdout
        self.story.boot_ids[vm_id] = boot_id.strip()
        first_line = "journalctl --dmesg --no-pager --output short-unix --grep '^Linux version' --lines 1"
        self.story.kernel_starts[vm_id] = self.service.run(vm_id, first_line).stdout.strip()

    def _waiting(self, job_id: int) -> dict[str, str]:
        job = self.cluster.job(job_id)
        if job["JobState"] == "PENDING" and job["Reason"] not in {"None", "Priority"}:
            return job
        raise NotYet(f"{job['JobState']} ({job['Reason']})")

    def _newest_of_two(self) -> int:
        members = self.service.members("worker")
        if len(members) == 2:
            return members[-1]
        published = self.service.client.vm(members[0])["USER_TEMPLATE"].get("SLURM_PENDING")
        raise NotYet(f"{len(members)} worker, it publishes SLURM_PENDING={published}")

    def _drained(self, vm_id: int) -> dict[str, str]:
        node = self.cluster.nodes().get(node_name(vm_id), {"State": "gone"})
        if node.get("Reason", "").startswith(OUR_DRAIN) and reason_time(node):
            return node
        raise NotYet(f"node {node['State']}, service {self.service.state().name}")

    def _nodes_without_the_first(self) -> list[str]:
        nodes = self.cluster.nodes()
        gone = node_name(self.story.first_worker)
        if gone not in nodes:
            return sorted(nodes)
        raise NotYet(nodes[gone]["State"])
