# SPDX-License-Identifier: GPL-3.0-or-later
"""How many workers a role still needs: by example, then for any queue against a placement that knows nothing of the
code's own."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DIRECT_IDLE_REASON, IDLE_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import count_pending
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_wanted import wanted_workers
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import (
    decide_worker,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    WorkerPolicy,
    WorkerReading,
)
from tests.unit.plugins.pool_world import NOW, PREFIX, make_job, make_node, make_service, make_vm, name_of

CPUS, MEMORY_MIB, GPUS = 4, 4000, 2
SHAPE = WorkerShape(CPUS, MEMORY_MIB, GPUS, frozenset(["worker"]), frozenset(["main"]))
LARGE = replace(SHAPE, cpus=16)


def worker(vm_id, *state_and_reason, **changes):
    return make_node(vm_id, *state_and_reason, **{"cpus": CPUS, "memory_mib": MEMORY_MIB, "gpus": GPUS, **changes})


def view(jobs, nodes=(), workers=None, cardinality=None):
    """A worker role with these nodes; workers: the listed VMs, 3 and on for every node when not given."""
    workers = range(3, 3 + len(nodes)) if workers is None else workers
    service = make_service(tuple(workers), cardinality)
    return RoleView(service, service.role("worker"), SlurmReading(tuple(nodes), tuple(jobs)), PREFIX, 1)


def wanted(jobs, *arguments, shapes=(SHAPE,), **changes):
    return wanted_workers(view(jobs, *arguments, **changes), shapes)


def jobs_of(*requests):
    return [make_job(number, **request) for number, request in enumerate(requests, 1)]


@pytest.mark.parametrize(
    ("requests", "count"),
    [
        ([], 0),
        ([{"cpus": 1}], 1),
        ([{"cpus": 1}] * 4, 1),
        ([{"cpus": 1}] * 5, 2),
        ([{"memory_mib": 3000}] * 3, 3),
        ([{"memory_mib": 2000}] * 3, 2),
        ([{"memory_mib": None}, {}], 2),
        ([{"gpus": 1}] * 3, 2),
        ([{"exclusive": True}, {}], 2),
        ([{}, {"exclusive": True}, {}], 2),
        ([{"count": 3, "cpus": 3}], 3),
        ([{"count": 3, "cpus": 3}, {"cpus": 3}, {"cpus": 3}, {"cpus": 3}], 3),
        ([{"count": 2, "cpus": 2}, {"count": 3, "cpus": 3}], 3),
        ([{"count": 2, "exclusive": True, "cpus": 2}] * 2, 4),
        ([{"tasks": 9}], 3),
        ([{"tasks": 9, "throttle": 5}], 2),
        ([{"cpus": 3}, {"cpus": 3}, {"cpus": 1}, {"cpus": 1}], 2),
    ],
)
def test_packing_into_new_workers(requests, count):
    assert wanted(jobs_of(*requests)) == count


@pytest.mark.parametrize(
    "request_",
    [
        {"cpus": CPUS + 1}, {"gpus": GPUS + 1}, {"feature": "big"}, {"partitions": ["debug"]},
        {"reason": "JobHeldUser"}, {"reason": "Dependency"}, {"required": [name_of(3)]},
        {"state": "RUNNING", "nodes": [name_of(3)]},
    ],
)  # fmt: skip
def test_jobs_that_do_not_count_want_nothing(request_):
    assert wanted(jobs_of(request_)) == 0


@pytest.mark.parametrize(
    ("node", "takes"),
    [
        (worker(3), True),
        (worker(3, "IDLE+PLANNED"), True),
        (worker(3, "MIXED"), False),
        (worker(3, "DOWN"), False),
        (worker(3, "IDLE+NOT_RESPONDING"), False),
        (worker(3, "IDLE+COMPLETING"), False),
        (worker(3, "IDLE+DRAIN", "disk"), False),
        (worker(3, "IDLE+DRAIN", IDLE_REASON), False),
        (worker(3, "IDLE+DRAIN", DIRECT_IDLE_REASON), False),
        (worker(3, cpus=2), False),
        (worker(3, features=["other"]), False),
        (worker(9), False),
    ],
)
def test_only_a_free_node_of_the_role_that_can_take_the_job_is_subtracted(node, takes):
    jobs = jobs_of({"cpus": 3, "feature": "worker"})
    assert wanted(jobs, [node], workers=[3], cardinality=0) == (0 if takes else 1)


def test_a_node_that_holds_a_suspended_job_is_not_free():
    jobs = [*jobs_of({}), make_job(9, state="SUSPENDED", nodes=[name_of(3)])]
    assert wanted(jobs, [worker(3)]) == 1


@pytest.mark.parametrize(
    ("nodes", "cardinality", "count"),
    [
        ([worker(3, "MIXED")], 1, 3),
        ([worker(3, "MIXED")], 2, 2),
        ([worker(3, "MIXED")], 9, 0),
        ([worker(3)], 2, 1),
        # A worker that is known but down is not one that boots.
        ([worker(3, "MIXED"), worker(4, "DOWN")], 2, 3),
    ],
)
def test_workers_that_boot_are_subtracted(nodes, cardinality, count):
    assert wanted(jobs_of(*[{"cpus": 3}] * 3), nodes, cardinality=cardinality) == count


def test_a_new_worker_is_the_smallest_that_fits():
    assert wanted(jobs_of(*[{"cpus": 3}] * 4), shapes=[LARGE, SHAPE]) == 4
    assert wanted(jobs_of({"cpus": 16}, *[{"cpus": 3}] * 4), shapes=[LARGE, SHAPE]) == 5
    assert wanted(jobs_of({"cpus": 4}, {"cpus": 4}), [worker(3, cpus=16)], shapes=[LARGE, SHAPE]) == 0


@pytest.mark.parametrize(
    ("waiting_seconds", "free_seconds", "node_count", "count"),
    [(180, 999, 1, 0), (181, 180, 1, 0), (181, 181, 1, 1), (181, 181, 2, 1), (181, None, 1, 0), (None, 999, 1, 0)],
)
def test_a_free_node_that_has_not_taken_the_job_for_long_does_not_count(
    waiting_seconds, free_seconds, node_count, count
):
    """Perhaps the job excludes it, which squeue does not tell: it must not keep the pool from growing."""
    submitted = None if waiting_seconds is None else NOW - waiting_seconds
    job = replace(make_job(count=node_count), submit_time=submitted)
    node = worker(3, last_busy=None if free_seconds is None else NOW - free_seconds)
    assert wanted_workers(view([job], [node]), [SHAPE], NOW) == count
    assert wanted_workers(view([job], [node]), [SHAPE]) == node_count - 1


REQUESTS = st.fixed_dictionaries(
    {
        "cpus": st.integers(1, 2 * CPUS + 1),
        "memory_mib": st.none() | st.integers(0, 2 * MEMORY_MIB + 1),
        "gpus": st.sampled_from([0, 0, 0, 1, 2, 3]),
        "count": st.sampled_from([1, 1, 1, 2, 3]),
        "exclusive": st.sampled_from([False, False, False, True]),
        "feature": st.sampled_from(["", "", "worker", "big"]),
        "reason": st.sampled_from(["Resources", "Priority", "None", "JobHeldUser"]),
        "tasks": st.none() | st.integers(1, 9),
        "throttle": st.none() | st.integers(1, 4),
    }
)
STATES = st.sampled_from([("IDLE",), ("IDLE",), ("MIXED",), ("DOWN",), ("IDLE+DRAIN", IDLE_REASON)])


@st.composite
def views(draw):
    """A queue, up to five workers in several states, some of them booting."""
    nodes = [worker(3 + number, *draw(STATES)) for number in range(draw(st.integers(0, 5)))]
    jobs = jobs_of(*draw(st.lists(REQUESTS, max_size=12)))
    return view(jobs, nodes, cardinality=len(nodes) + draw(st.integers(0, 2)))


def starting_tasks(jobs):
    """Every job or array task that waits for a worker and could run on one, told without the code's own notions."""
    for job in jobs:
        share = [-(-total // job.node_count) for total in (job.cpus, job.memory_mib or 0, job.gpus)]
        if job.reason == "JobHeldUser" or job.feature_expression == "big":
            continue
        if all(amount <= most for amount, most in zip(share, (CPUS, MEMORY_MIB, GPUS), strict=True)):
            tasks = 1 if job.tasks is None else min(job.tasks.task_count, job.tasks.throttle or 99)
            yield from [(job, share)] * tasks


def all_start(jobs, worker_count):
    """Let an empty pool of that many workers start the queue, each job on the first workers with room."""
    workers = [[CPUS, MEMORY_MIB, GPUS] for _worker in range(worker_count)]
    for job, share in starting_tasks(jobs):
        least = [CPUS, MEMORY_MIB, GPUS] if job.exclusive else share
        if job.memory_mib is None:
            least = [least[0], MEMORY_MIB, least[2]]
        able = [rest for rest in workers if all(amount <= left for amount, left in zip(least, rest, strict=True))]
        if len(able) < job.node_count:
            return False
        for rest in able[: job.node_count]:
            rest[:] = [left - amount for left, amount in zip(rest, least, strict=True)]
    return True


@settings(max_examples=400, deadline=None)
@given(views())
def test_with_the_wanted_workers_every_job_starts(situation):
    count = wanted_workers(situation, [SHAPE])
    event(f"wanted {min(count, 5)}")
    free = sum(1 for node in situation.slurm.nodes if (node.base_state, node.reason) == ("IDLE", ""))
    booting = situation.role.cardinality - len(situation.slurm.nodes)
    assert all_start(situation.slurm.jobs, count + free + booting)


@settings(max_examples=400, deadline=None)
@given(views(), REQUESTS)
def test_bounds(situation, request_):
    count = wanted_workers(situation, [SHAPE])
    starting = list(starting_tasks(situation.slurm.jobs))
    # Never more than one worker for each share of a job, never so few that a job waits and nothing comes.
    assert count <= sum(job.node_count for job, _share in starting)
    usable = len(situation.free_nodes) + situation.role.cardinality - len(situation.slurm.nodes)
    assert count > 0 or not starting or usable > 0
    # Jobs that have waited for long want workers even if nodes are free.
    later = wanted_workers(situation, [SHAPE], NOW + 1000)
    booting = situation.role.cardinality - len(situation.slurm.nodes)
    assert later <= sum(job.node_count for job, _share in starting)
    assert later > 0 or booting > 0 or all(job.node_count > 1 for job, _share in starting)
    # A job more never makes it smaller, a free node or one that boots more never larger.
    more = replace(situation.slurm, jobs=(*situation.slurm.jobs, make_job(99, **request_)))
    assert wanted_workers(replace(situation, slurm=more), [SHAPE]) >= count
    boots = replace(situation.role, cardinality=situation.role.cardinality + 1)
    assert count - 1 <= wanted_workers(replace(situation, role=boots), [SHAPE]) <= count
    listed = [*situation.role.vm_ids, 99]
    richer = view(situation.slurm.jobs, [*situation.slurm.nodes, worker(99)], listed, situation.role.cardinality + 1)
    assert count - 1 <= wanted_workers(richer, [SHAPE]) <= count


@settings(max_examples=100, deadline=None)
@given(views())
def test_nothing_is_wanted_when_nothing_waits(situation):
    held = tuple(replace(job, reason="JobHeldUser") for job in situation.slurm.jobs)
    assert wanted_workers(replace(situation, slurm=replace(situation.slurm, jobs=held)), [SHAPE]) == 0


@pytest.mark.parametrize(("maximum", "count"), [(0, 3), (4, 3), (3, 0)])
def test_a_job_on_more_nodes_than_there_are(maximum, count):
    """All of them are new but the one that is there and free; maximum: the most workers of the only role."""
    job = make_job(count=4, cpus=4 * CPUS, reason="PartitionNodeLimit")
    assert wanted_workers(replace(view([job], [worker(3)]), maximum=maximum), [SHAPE]) == count


def test_a_job_on_several_nodes_may_get_them_from_every_role():
    service = make_service((3,), worker_gpu=(4,))
    jobs = [make_job(number, count=number, reason="PartitionConfig") for number in (4, 5)]
    slurm = SlurmReading((worker(3), worker(4)), tuple(jobs))
    pending = count_pending(jobs, [SHAPE], RoleView(service, service.role("worker"), slurm, PREFIX, 1, 2).pool_size)
    assert pending.jobs == 1


def large_reading(worker_count, job_count):
    """Two thirds of the workers are busy with one job each; the waiting jobs have hundreds of different requests."""
    dice = random.Random(1)
    nodes = [worker(3 + n, "MIXED" if n % 3 else "IDLE", cpus=64, memory_mib=256_000) for n in range(worker_count)]
    running = [make_job(n, state="RUNNING", nodes=[name_of(3 + n)]) for n in range(worker_count) if n % 3]
    waiting = [
        make_job(10_000 + n, cpus=dice.randint(1, 64), memory_mib=dice.randint(1, 128) * 1000, feature="worker")
        for n in range(job_count)
    ]
    service = make_service(range(3, 3 + worker_count))
    return WorkerReading(NOW, SlurmReading(tuple(nodes), (*running, *waiting)), service, make_vm(3))


def decision_seconds(worker_count, job_count):
    policy = WorkerPolicy(PREFIX, idle_seconds=600, drain_seconds=600, min_vms=1)
    best = 99.0
    for _attempt in range(2):
        reading = large_reading(worker_count, job_count)
        started = time.process_time()
        decision = decide_worker(policy, reading, WorkerMemory(name_of(3)))
        assert decision.figures.slurm_wanted > 0
        best = min(best, time.process_time() - started)
    return best


def test_the_decision_of_a_large_pool_is_quick():
    """Four times as many workers and jobs take far less than sixteen times as long."""
    small, large = decision_seconds(250, 2_500), decision_seconds(1_000, 10_000)
    assert large < 5.0
    assert large / small < 14
