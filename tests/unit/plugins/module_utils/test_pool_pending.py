# SPDX-License-Identifier: GPL-3.0-or-later
"""Which waiting jobs count: the recorded ones of both versions, then every rule by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import (
    PoolSize,
    count_pending,
    fits,
    waits_for_a_node,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape, shape_of_node
from tests.unit.plugins.pool_world import make_job
from tests.unit.plugins.slurm_samples import VERSIONS, recorded_reading

SHAPE = WorkerShape(cpus=4, memory_mib=4000, gpus=0, features=frozenset(["worker"]), partitions=frozenset(["main"]))
THREE = PoolSize(machines=3)
DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"


def counted_names(version, scenario, node_names):
    """The names of the recorded jobs that count for a role of these nodes, arrays with their number."""
    reading = recorded_reading(version, scenario)
    shapes = [shape_of_node(node) for node in reading.machines if node.name in node_names]
    counted = {
        job.name.decode("utf-8", "replace"): count
        for job in reading.jobs
        if (count := count_pending([job, *_started(reading.jobs)], shapes, PoolSize(len(reading.machines))).jobs)
    }
    assert count_pending(reading.jobs, shapes, PoolSize(len(reading.machines))).jobs == sum(counted.values())
    return counted


def _started(jobs):
    return [job for job in jobs if not job.is_pending]


TWO_CPU_JOBS = {
    "pend-head": 1, "pend-priority": 1, "arr-step": 3, "arr-long": 4, "pend-excluser": 1, "pend-share": 1,
    "pend-2part": 1, "a|b": 1, "x, \"y\" it's Größe ✓": 1, "us\x1finside": 1, "nl\nline two": 1, "": 1, "comment": 1,
}  # fmt: skip
SMALL_JOBS = {"arr-run": 1, "exc-node": 1, "mem-all": 1, "pend-excl": 1}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scenario", ["mixed", "mixed-after-restart"])
def test_recorded_jobs_for_a_small_worker(version, scenario):
    """w1: 2 CPUs, 4000 MB. mem-cpu wants 4 CPUs, mem-node 6000 MB, -n9 nine CPUs on one node."""
    assert counted_names(version, scenario, {"w1"}) == {**TWO_CPU_JOBS, **SMALL_JOBS}


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_jobs_for_a_big_worker(version):
    """w2: 8 CPUs, 8000 MB, worker and big."""
    assert counted_names(version, "mixed", {"w2"}) == {
        **TWO_CPU_JOBS, **SMALL_JOBS, "mem-node": 1, "mem-cpu": 1, "mem-default": 1, "feat-and": 1, "feat-or": 1,
        "pend-2node": 1, "pend-range": 1,
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_jobs_for_a_gpu_worker(version):
    """w3: 5 CPUs, 8000 MB, worker and gpu, one GPU. pend-2node takes 4 of 8 CPUs on each of two nodes."""
    assert counted_names(version, "mixed", {"w3"}) == {
        **TWO_CPU_JOBS, **SMALL_JOBS, "mem-node": 1, "mem-cpu": 1, "mem-default": 1, "feat-or": 1, "feat-comma": 1,
        "pend-2node": 1, "mem-gpu": 1, "gpu-gres": 1, "gpu-job": 1, "gpu-node": 1, "gpu-task": 1,
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_jobs_of_an_empty_pool(version):
    """22.05 keeps two and toolarge as PartitionNodeLimit and PartitionConfig; neither helps to a worker."""
    jobs = recorded_reading(version, "only-placeholder-pending").jobs
    shape = WorkerShape(16, 16000, 1, frozenset(["worker", "big"]))
    alone = {job.name.decode(): count_pending([job], [shape], THREE).jobs for job in jobs}
    assert {name: count for name, count in alone.items() if count} == {
        "one": 1, "eight": 1, "gpu": 1, "big": 1, "arr": 2, "excl": 1, "mem0": 1
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_jobs_that_ask_for_a_node_by_name(version):
    reading = recorded_reading(version, "mixed")
    assert count_pending(reading.jobs, [SHAPE], THREE).asked_nodes == {"w1", "w2"}
    held = recorded_reading(version, "node-deleted")
    assert count_pending(held.jobs, [SHAPE], THREE).asked_nodes == {"w3"}
    only_held = [job for job in held.jobs if job.name == b"held-w3"]
    assert count_pending(only_held, [SHAPE], THREE).asked_nodes == frozenset()


@pytest.mark.parametrize("reason", ["Resources", "Priority", "None", DOWN, "ReqNodeNotAvail, UnavailableNodes:w1",
                                    "ReqNodeNotAvail, May be reserved for other job"])  # fmt: skip
def test_reasons_that_count(reason):
    assert count_pending([make_job(reason=reason)], [SHAPE], THREE).jobs == 1


NEVER = [
    "JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobArrayTaskLimit",
    "AssocGrpCpuLimit", "AssocMaxJobsLimit", "QOSMaxCpuPerUserLimit", "QOSGrpJobsLimit", "MaxCpuPerAccount",
    "PartitionTimeLimit", "PartitionNodeLimit", "PartitionDown", "PartitionInactive", "PartitionConfig",
    "BadConstraints", "Licenses", "Reservation", "ReservationDeleted", "InvalidQOS", "InvalidAccount", "Cleaning",
    "ReqNodeNotAvail, Reserved for maintenance", "launch failed requeued held", "resources", "Priorities", "",
    "Job's QOS not permitted to use this partition (debug)", "Something of a later Slurm",
]  # fmt: skip


@pytest.mark.parametrize("reason", NEVER)
def test_reasons_that_never_count(reason):
    assert count_pending([make_job(reason=reason)], [SHAPE], THREE).jobs == 0


@settings(deadline=None)
@given(st.text())
def test_no_other_text_counts(reason):
    known = ("Nodes required for job are DOWN", "ReqNodeNotAvail")
    if reason not in ("Resources", "Priority", "None") and not reason.startswith(known):
        assert not waits_for_a_node(make_job(reason=reason), THREE)


@pytest.mark.parametrize("reason", ["PartitionConfig", "PartitionNodeLimit"])
@pytest.mark.parametrize(
    ("node_count", "machines", "jobs"), [(1, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 1), (2, 2, 0), (5, 2, 1), (5, 6, 0)]
)
def test_a_job_on_more_nodes_than_there_are_counts(reason, node_count, machines, jobs):
    """As a real 22.05 says it: tests/integration/slurm_namespace/test_wide_jobs.py."""
    job = make_job(reason=reason, count=node_count, cpus=node_count)
    assert count_pending([job], [SHAPE], PoolSize(machines)).jobs == jobs


@pytest.mark.parametrize("reason", ["Resources", "Priority", "None", "PartitionNodeLimit", DOWN])
@pytest.mark.parametrize(("node_count", "most", "jobs"), [(3, 0, 1), (3, 4, 1), (4, 4, 1), (5, 4, 0), (9, 4, 0)])
def test_a_job_on_more_nodes_than_the_pool_may_have_never_counts(reason, node_count, most, jobs):
    job = make_job(reason=reason, count=node_count, cpus=node_count)
    assert count_pending([job], [SHAPE], PoolSize(machines=1, most=most)).jobs == jobs


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "CANCELLED", "FAILED"])
def test_only_waiting_jobs_count(state):
    job = replace(make_job(state=state), reason="Resources")
    assert count_pending([job], [SHAPE], THREE).jobs == 0


@pytest.mark.parametrize(
    ("job", "fit"),
    [
        (make_job(cpus=4), True),
        (make_job(cpus=5), False),
        (make_job(cpus=8, count=2), True),
        (make_job(cpus=9, count=2), False),
        (make_job(memory_mib=4000), True),
        (make_job(memory_mib=4001), False),
        (make_job(memory_mib=8000, count=2), True),
        (make_job(memory_mib=None), True),
        (make_job(gpus=1), False),
        (make_job(feature="worker"), True),
        (make_job(feature="big"), False),
        (make_job(feature="big|worker"), True),
        (make_job(feature="big&"), False),
        (make_job(partitions=["debug"]), False),
        (make_job(partitions=["debug", "main"]), True),
        (make_job(exclusive=True), True),
    ],
)
def test_fits_one_worker(job, fit):
    assert fits(job, SHAPE) is fit
    assert count_pending([job], [SHAPE], THREE).jobs == int(fit)


def test_partitions_that_are_not_known_fit():
    assert fits(make_job(partitions=["debug"]), replace(SHAPE, partitions=frozenset()))


def test_without_a_shape_nothing_counts():
    assert count_pending([make_job()], [], THREE).jobs == 0


def test_several_shapes_count_a_job_once():
    assert count_pending([make_job()], [SHAPE, replace(SHAPE, memory_mib=4001)], THREE).jobs == 1


@pytest.mark.parametrize(
    ("states", "startable"),
    [([], 2), (["RUNNING"], 1), (["RUNNING", "COMPLETING"], 1), (["RUNNING", "SUSPENDED"], 0), (["COMPLETED"] * 5, 2)],
)
def test_array_throttle_counts_what_runs(states, startable):
    array = make_job(10, tasks=7, throttle=2)
    others = [make_job(20 + number, state=state, array_job_id=10) for number, state in enumerate(states)]
    stranger = make_job(50, state="RUNNING")
    assert count_pending([array, *others, stranger], [SHAPE], THREE).jobs == startable


def test_array_without_throttle_counts_every_task():
    assert count_pending([make_job(tasks=300)], [SHAPE], THREE).jobs == 300
