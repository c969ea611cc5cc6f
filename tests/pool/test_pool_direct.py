# SPDX-License-Identifier: GPL-3.0-or-later
"""The other scaling mode, chosen by a service input alone: the template is the collection's own as it is."""

from __future__ import annotations

import pytest

from tests.opennebula.states import VmState
from tests.pool.bench import PoolBench
from tests.pool.template import BOOT_SECONDS, DIRECT_MAXIMUM, WORKER
from tests.service.cluster import node_name
from tests.service.progress import NotYet

WORKER_JOB = ("--exclusive", "--mem=100")


@pytest.fixture(scope="module")
def direct(direct_service):
    """Its pool, with one worker."""
    direct_service.wait_running(BOOT_SECONDS)
    direct_service.make_user_home()
    return PoolBench(direct_service)


@pytest.fixture(scope="module")
def grown(direct):
    """Event number and jobs: the only worker is busy, and as many jobs wait as there may be more workers."""
    since = direct.last_event()
    jobs = [direct.jobs.submit(f"direct{number}", *WORKER_JOB) for number in range(DIRECT_MAXIMUM)]
    for job_id in jobs:
        direct.cluster.wait_job(job_id, "RUNNING", 600)
    return since, jobs


def test_the_pool_grows_to_the_need_in_one_step(direct, grown):
    since, _ = grown
    changes = direct.events(since, "CARDINALITY", role=WORKER)
    assert [event["text"] for event in changes] == [f"1 -> {DIRECT_MAXIMUM}"]


def test_no_rule_of_the_template_has_asked_for_it(direct, grown):
    since, _ = grown
    assert direct.events(since, "POLICY_FIRED", "MINIMUM_FIRED") == []
    assert {direct.figures(vm_id)["SLURM_PENDING"] for vm_id in direct.workers(WORKER)} == {"0"}


@pytest.fixture(scope="module")
def shrunk(direct, grown):
    """The oldest worker keeps its job, the others have none: the VMs before and after, and the job."""
    since, jobs = grown
    before = direct.workers(WORKER)
    on_oldest = next(job_id for job_id in jobs if direct.cluster.job(job_id)["NodeList"] == node_name(before[0]))
    for number, job_id in enumerate(jobs):
        if job_id != on_oldest:
            direct.jobs.end(f"direct{number}")

    def alone():
        listed = direct.workers(WORKER)
        if listed == before[:1]:
            return listed
        raise NotYet(f"{listed}, the service is {direct.service.state().name}")

    direct.progress.wait_for("the oldest worker to be the only one", alone, timeout_seconds=600)
    return since, before, on_oldest


def test_idle_workers_go_though_the_oldest_holds_a_job(direct, shrunk):
    _, before, on_oldest = shrunk
    assert [int(direct.client.vm(vm_id)["STATE"]) == VmState.DONE for vm_id in before] == [False, True, True]
    job = direct.cluster.job(on_oldest)
    assert (job["JobState"], job["NodeList"], job["Restarts"]) == ("RUNNING", node_name(before[0]), "0")


def test_their_nodes_are_gone_and_oneflow_was_not_asked_to_choose(direct, shrunk):
    since, before, _ = shrunk
    for vm_id in before[1:]:
        direct.wait_without_node(vm_id)
    # Only the growth went through it.
    states = [event["text"] for event in direct.events(since, "SERVICE_STATE")]
    assert len([text for text in states if "-> SCALING" in text]) == 1


def test_the_job_on_the_oldest_ends_by_itself(direct, shrunk):
    _, _, on_oldest = shrunk
    direct.jobs.end(direct.cluster.job(on_oldest)["JobName"])
    job = direct.cluster.wait_job(on_oldest, "COMPLETED", 60)
    assert job["ExitCode"] == "0:0"
