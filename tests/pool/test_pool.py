# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool's decisions on real hosts. The tests share one service and run in this order:

a power cut while the other role grows, OneGate's faults, somebody else's drain, the controller's absence while the
oldest worker is drained, jobs that come in that moment, and both roles back at their minimum.
"""

from __future__ import annotations

import re
import time

import pytest

from tests.opennebula.states import VmState
from tests.pool.template import BIG, BOOT_SECONDS, IDLE_SECONDS, MAXIMUM, MINIMUM, WORKER
from tests.service.accounting import COMPLETION_LOG
from tests.service.cluster import node_name

# One fills a worker of its role. The second asks for no role, but for more memory than a worker of the other has.
WORKER_JOB = ("--exclusive", "--mem=100", "--constraint=worker")
BIG_JOB = ("--mem=650",)
IDLE, RETURNING = "onehpc:policies:idle", "onehpc:policies:returning"
FOREIGN = "admin: new disk"
# The second when a call before has made the tick look for an endpoint anew.
NO_ANSWER = (
    "OneGate at [^ ]+ could not be used for GET [^ ]+: it did not answer in time."
    "|No OneGate endpoint answers [(].*it did not answer in time[)]."
)
RETURN_GRACE_SECONDS = 150
SHORTEST_ABSENCE_SECONDS = 20
# What a role may take to grow by one on a busy machine.
GROWTH_SECONDS = 600

# -- a power cut, and growth ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown(pool):
    """Event number, lost VM and job ids: big's only worker has lost its power under a job, and three jobs want a worker
    each where there are two."""
    since = pool.last_event()
    doomed = pool.jobs.submit("doomed", *BIG_JOB)
    pool.cluster.wait_job(doomed, "RUNNING", 60)
    lost = pool.service.single(BIG)
    waiting = [pool.jobs.submit(f"grow{number}", *WORKER_JOB) for number in range(3)]
    pool.client.terminate(lost, hard=True)
    return {"since": since, "lost": lost, "doomed": doomed, "waiting": waiting}


def test_the_job_of_a_worker_without_power_fails_with_its_node(pool, grown):
    job = pool.cluster.wait_job(grown["doomed"], "NODE_FAIL", 240)
    assert (job["Restarts"], job["NodeList"]) == ("0", node_name(grown["lost"]))


def test_its_node_is_set_down_and_then_deleted_after_a_second_reading(pool, grown):
    name = node_name(grown["lost"])
    left = pool.progress.wait_for(
        "OneFlow to list the VM no longer",
        lambda: pool.events(grown["since"], "NODE_REMOVED", role=BIG),
        timeout_seconds=60,
    )
    pool.wait_without_node(grown["lost"])
    assert time.time() - left[0]["time"] >= SHORTEST_ABSENCE_SECONDS
    # By the portal's tick, unless slurmctld has missed the node for SlurmdTimeout before.
    log = pool.service.run_on_portal("journalctl --no-pager --output short-unix --unit slurmctld").stdout
    by_tick = [line for line in log.splitlines() if f"update_node: node {name} state set to DOWN" in line]
    assert len(by_tick) == 1 or f"Nodes {name} not responding, setting DOWN" in log
    assert [line for line in by_tick if float(line.split()[0]) < left[0]["time"] + SHORTEST_ABSENCE_SECONDS] == []


def test_another_vm_comes_for_it(pool, grown):
    pool.wait_size(BIG, MINIMUM[BIG])
    new = pool.service.single(BIG)
    assert new != grown["lost"]
    pool.service.wait_ready(new)
    fired = pool.events(grown["since"], "MINIMUM_FIRED", "POLICY_FIRED", role=BIG)
    assert [event["kind"] for event in fired] == ["MINIMUM_FIRED"]


def test_the_role_grows_for_the_job_that_waits(pool, grown):
    job = pool.cluster.wait_job(grown["waiting"][-1], "RUNNING", GROWTH_SECONDS)
    workers = pool.workers(WORKER)
    assert len(workers) == MAXIMUM[WORKER]
    assert job["NodeList"] == node_name(workers[-1])
    fired = pool.events(grown["since"], "POLICY_FIRED", role=WORKER)
    assert ["SLURM_PENDING" in event["text"] for event in fired] == [True]


def test_the_other_role_is_not_asked_to_grow_with_it(pool, grown):
    assert read_as(pool, grown["since"], BIG, "SLURM_PENDING") == {"0.0"}
    assert {"0.0", "1.0"} <= read_as(pool, grown["since"], WORKER, "SLURM_PENDING")


# -- OneGate's faults: the oldest worker is about to be drained -------------------------------------------------------


@pytest.fixture(scope="module")
def idle_since(pool, grown, direct_service):
    """When the last job of role worker ended. The second service has booted by now: its first boots meet no fault."""
    direct_service.wait_running(BOOT_SECONDS)
    for number in range(3):
        pool.jobs.end(f"grow{number}")
    ended = [pool.cluster.wait_job(job_id, "COMPLETED", 60) for job_id in grown["waiting"]]
    return max(float(job["EndTime"]) for job in ended)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        # On a machine with much other work the unit's own timeout may come first.
        ({"kind": "hang"}, f"{NO_ANSWER}|$"),
        ({"kind": "garbage"}, "OneGate at [^ ]+ answered 200 to GET [^ ]+: the body is not JSON."),
        ({"kind": "status", "status": 500}, "OneGate at [^ ]+ answered 500 to GET [^ ]+: Internal server error."),
    ],
    ids=["nothing", "garbage", "500"],
)
def test_nothing_is_done_while_onegate_answers(pool, idle_since, fault, sentence):
    # The last of them is set when the oldest worker is due.
    wait_idle(pool, idle_since if fault.get("status") else 0)
    before = {name: (node["State"], node.get("Reason")) for name, node in pool.cluster.nodes().items()}
    pool.client.set_fault("onegate", **fault)
    try:
        ticks = pool.ticks([*pool.workers(), pool.portal])
    finally:
        pool.client.clear_faults()
    assert {name: (node["State"], node.get("Reason")) for name, node in pool.cluster.nodes().items()} == before
    for tick in ticks.values():
        assert not tick.succeeded
        assert len(tick.failures) <= 1, tick.output
        assert re.match(sentence, "".join(tick.failures)), tick.output


# -- somebody else's drain --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def foreign(pool, idle_since):
    """The oldest worker: somebody has drained it after its tick had read it as idle, and before it drained it."""
    oldest = pool.workers(WORKER)[0]
    wait_idle(pool, idle_since)
    with_race = RACE.format(node=node_name(oldest), reason=FOREIGN)
    pool.service.run(oldest, "cat > /usr/sbin/scontrol && chmod 0755 /usr/sbin/scontrol", input=with_race)
    try:
        tick = pool.tick(oldest)
    finally:
        pool.service.run(oldest, "rm /usr/sbin/scontrol")
    return oldest, tick


RACE = """#!/bin/sh
case "$*" in
*"show node {node}"*) /usr/bin/scontrol update nodename={node} state=drain reason='{reason}' ;;
esac
exec /usr/bin/scontrol "$@"
"""


def test_somebody_elses_drain_between_reading_and_writing_stands(pool, foreign):
    oldest, tick = foreign
    assert tick.succeeded, tick.output
    assert pool.reason(oldest) == FOREIGN


def test_no_tick_touches_it_and_nobody_may_remove_it(pool, foreign):
    oldest, _ = foreign
    for _ in range(2):
        ticks = pool.ticks([*pool.workers(), pool.portal])
        assert [tick.output for tick in ticks.values() if not tick.succeeded] == []
        assert f"Node {node_name(oldest)} was touched by root ({FOREIGN}): left alone." in ticks[oldest].said
    assert pool.reason(oldest) == FOREIGN
    assert {pool.figures(vm_id)["OLDEST_IDLE"] for vm_id in pool.workers()} == {"0"}


# -- the controller is away while the oldest worker is drained --------------------------------------------------------


@pytest.fixture(scope="module")
def away(pool, foreign):
    """Somebody gives the oldest worker back, its tick drains it, and slurmctld is stopped until OneFlow has read the
    figures of two ticks."""
    oldest, _ = foreign
    pool.cluster.scontrol("update", f"nodename={node_name(oldest)}", "state=undrain")
    drained = pool.tick(oldest)
    assert pool.reason(oldest) == IDLE, drained.output
    pool.service.run_on_portal("systemctl stop slurmctld")
    try:
        workers = pool.workers()
        ticks = [*pool.ticks([*workers, pool.portal]).values()]
        since = pool.last_event()
        figures = [pool.figures(vm_id) for vm_id in workers]
        for vm_id in workers:
            pool.wait_healthy(vm_id)
        ticks += pool.ticks([*workers, pool.portal]).values()
        read = read_as(pool, since, WORKER, "OLDEST_IDLE"), read_as(pool, since, WORKER, "SLURM_PENDING")
    finally:
        pool.service.run_on_portal("systemctl start slurmctld")
    nodes = pool.progress.wait_for("slurmctld to answer", pool.cluster.nodes, timeout_seconds=60)
    return {"oldest": oldest, "workers": workers, "ticks": ticks, "figures": figures, "read": read, "nodes": nodes}


def test_a_controller_that_is_away_is_no_failed_tick(away):
    assert [tick.output for tick in away["ticks"] if not tick.succeeded] == []


def test_the_figures_of_the_pool_are_neutral_without_a_controller(away):
    published = {(figures["SLURM_PENDING"], figures["OLDEST_IDLE"]) for figures in away["figures"]}
    assert published == {("0", "0")}
    assert away["read"] == ({"0.0"}, {"0.0"})


def test_no_drain_and_no_node_is_lost_without_a_controller(pool, away):
    assert sorted(away["nodes"]) == sorted(node_name(vm_id) for vm_id in away["workers"])
    assert away["nodes"][node_name(away["oldest"])]["Reason"].startswith(f"{IDLE} [")
    assert pool.workers() == away["workers"]


# -- jobs come while the oldest worker is drained ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def returned(pool, away):
    """The controller is back and the oldest worker still drained; in that moment come jobs for every worker."""
    oldest, since = away["oldest"], pool.last_event()
    jobs = [pool.jobs.submit(f"return{number}", *WORKER_JOB) for number in range(MAXIMUM[WORKER])]
    assert pool.reason(oldest) == IDLE
    pool.wait_pending(jobs[-1])
    assert pool.tick(oldest).succeeded
    return {"since": since, "oldest": oldest, "jobs": jobs, "withdrawn": int(pool.figures(oldest)["REPORT_TIME"])}


def test_a_job_that_comes_then_withdraws_the_offer_first(pool, returned):
    assert pool.reason(returned["oldest"]) == RETURNING
    assert pool.figures(returned["oldest"])["OLDEST_IDLE"] == "0"


def test_meanwhile_the_other_role_grows_for_its_own_job(pool, returned):
    jobs = [pool.jobs.submit(f"big{number}", *BIG_JOB) for number in range(MAXIMUM[BIG])]
    job = pool.cluster.wait_job(jobs[-1], "RUNNING", GROWTH_SECONDS)
    assert job["NodeList"] == node_name(pool.workers(BIG)[-1])
    fired = pool.events(returned["since"], "POLICY_FIRED")
    assert [(event["role"], "SLURM_PENDING" in event["text"]) for event in fired] == [(BIG, True)]


def test_the_job_starts_on_the_returned_worker(pool, returned):
    job = pool.cluster.wait_job(returned["jobs"][-1], "RUNNING", GROWTH_SECONDS)
    assert job["NodeList"] == node_name(returned["oldest"])
    assert float(job["StartTime"]) >= returned["withdrawn"] + RETURN_GRACE_SECONDS


def test_no_vm_is_removed_under_it(pool, returned):
    for number in range(MAXIMUM[WORKER]):
        pool.jobs.end(f"return{number}")
    for job_id in returned["jobs"]:
        assert pool.cluster.wait_job(job_id, "COMPLETED", 60)["Restarts"] == "0"
    assert pool.events(returned["since"], "VM_TERMINATE", "NODE_REMOVED") == []


# -- down -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shrunk(pool, returned):
    """Nobody needs a worker any more: the workers before, and those of the roles at their minimum."""
    before = {role: pool.workers(role) for role in MINIMUM}
    for number in range(MAXIMUM[BIG]):
        pool.jobs.end(f"big{number}")
    for role, number in MINIMUM.items():
        pool.wait_size(role, number, GROWTH_SECONDS)
    return before


def test_each_role_goes_down_to_its_own_minimum_by_its_oldest(pool, shrunk):
    for role, before in shrunk.items():
        assert pool.workers(role) == before[1:]
        pool.wait_without_node(before[0])
        assert int(pool.client.vm(before[0])["STATE"]) == VmState.DONE


def test_at_its_minimum_a_role_keeps_its_workers(pool, shrunk):
    oldest = pool.workers(WORKER)[0]
    job = pool.jobs.submit("last", *WORKER_JOB, f"--nodelist={node_name(oldest)}")
    pool.cluster.wait_job(job, "RUNNING", 60)
    pool.jobs.end("last")
    wait_idle(pool, float(pool.cluster.wait_job(job, "COMPLETED", 60)["EndTime"]))
    tick = pool.tick(oldest)
    assert f"The role has no more workers than must stay ({MINIMUM[WORKER]})." in tick.said
    assert pool.reason(oldest) == ""


def test_each_job_but_the_one_without_power_was_completed(pool, shrunk):
    others = f"grep --invert-match --extended-regexp ' Name=doomed | JobState=COMPLETED ' {COMPLETION_LOG}"
    assert pool.service.run_on_portal(f"{others} || test $? = 1").stdout == ""


def wait_idle(pool, ended):
    """Wait until the idle time has passed since `ended`."""
    pool.progress.wait_for(
        f"{IDLE_SECONDS} s without a job", lambda: time.time() > ended + IDLE_SECONDS, timeout_seconds=IDLE_SECONDS + 5
    )


def read_as(pool, since, role, name):
    """The values of a figure, each as the mean of the role's workers, that OneFlow has read; none while it has none."""
    evaluated = (event["text"] for event in pool.events(since, "POLICY_EVALUATED", role=role))
    return {text.split("[")[1].split("]")[0] for text in evaluated if f" {name}[" in text} - {"--"}
