# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics from what the portal has read and decided."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import oneflow_states as states
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics import (
    PoolMetrics,
    RoleMetrics,
    WorkerMetrics,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics_reading import pool_metrics
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import decide_portal
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import PortalMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalPolicy, PortalReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from tests.unit.plugins.pool_world import NOW, PORTAL_ID, PREFIX, make_job, make_node, make_service, make_vm, name_of

FIGURES = {"ACTIVE_SESSIONS": "1", "IDLE_SECONDS": "0", "OLDEST_IDLE": "0", "HEALTHY": "1", "REPORT_TIME": str(NOW - 7)}
NODES = (make_node(3), make_node(4), make_node("ph-worker", "FUTURE"))


def read(nodes=NODES, jobs=(), slurm=True, vms=None, **service):
    vms = [make_vm(3, **FIGURES), make_vm(4)] if vms is None else vms
    return PortalReading(
        now=NOW,
        slurm=SlurmReading(tuple(nodes), tuple(jobs)) if slurm else None,
        service=make_service(**service),
        own_vm_id=PORTAL_ID,
        worker_vms={vm.id: vm for vm in vms},
    )


def metrics_of(reading, succeeded=True, **policy):
    decision = decide_portal(PortalPolicy(PREFIX, {}, **policy), reading, PortalMemory())
    return pool_metrics(reading, decision, 0, succeeded)


@pytest.mark.parametrize("scaling", ["policies", "direct"])
def test_a_pool_with_a_queue(scaling):
    """In mode direct the workers publish no queue, but the metrics have it."""
    jobs = [make_job(1, "RUNNING", nodes=[name_of(3)]), make_job(2, cpus=2), make_job(3, cpus=2), make_job(4, cpus=2)]
    metrics = metrics_of(read(jobs=jobs, cardinality=3), scaling=scaling)
    assert (metrics.scrape_ok, metrics.service_state) == (True, states.SERVICE_RUNNING)
    assert (metrics.idle_nodes, metrics.alloc_nodes) == (1, 1)
    assert metrics.roles == (
        RoleMetrics("storage", 1), RoleMetrics("portal", 1), RoleMetrics("worker", 3, pending=3, wanted=1)
    )  # fmt: skip
    assert metrics.workers == (
        WorkerMetrics(3, "worker_3", "10.77.0.3", 1, 0, 0, 1, NOW - 7),
        WorkerMetrics(4, "worker_4", "10.77.0.4"),
    )


@pytest.mark.parametrize("text", ["", "much", "1e3", "nan", "inf", "0x1", "1_0", " 1", ["1", "2"], {"a": "1"}, None])
def test_what_is_no_number_is_left_out(text):
    metrics = metrics_of(read(vms=[make_vm(3, **{**FIGURES, "HEALTHY": text})]))
    assert metrics.workers[0].healthy is None
    assert metrics.workers[0].active_sessions == 1


def test_a_job_that_is_suspended_holds_its_node():
    metrics = metrics_of(read(jobs=[make_job(1, "SUSPENDED", nodes=[name_of(4)])]))
    assert (metrics.idle_nodes, metrics.alloc_nodes) == (1, 1)


def test_without_the_controller_the_workers_figures_are_there():
    metrics = metrics_of(read(slurm=False))
    assert metrics.scrape_ok is False
    assert (metrics.idle_nodes, metrics.alloc_nodes) == (None, None)
    assert metrics.roles[2] == RoleMetrics("worker", 2)
    assert metrics.workers[0].active_sessions == 1


def test_a_worker_that_was_not_shown_has_no_sample():
    metrics = metrics_of(read(vms=[make_vm(4)]))
    assert metrics.scrape_ok is False
    assert [worker.vm_id for worker in metrics.workers] == [4]


def test_a_tick_that_failed_tells_as_far_as_it_came():
    assert pool_metrics(None, None, 3, False) == PoolMetrics(scrape_ok=False, user_nginx=3)
    metrics = pool_metrics(read(), None, 3, False)
    assert (metrics.scrape_ok, metrics.service_state, metrics.frozen) == (False, states.SERVICE_RUNNING, ())
    assert metrics_of(read(), succeeded=False).scrape_ok is False


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (states.SERVICE_RUNNING, None),
        (states.SERVICE_SCALING, None),
        (states.SERVICE_WARNING, "warning"),
        (states.SERVICE_FAILED_SCALING, "failed_scaling"),
    ],
)
def test_why_the_pool_is_frozen(state, reason):
    frozen = dict(metrics_of(read(state=state)).frozen)
    assert set(frozen) == {"warning", "failed_scaling", "scaling", "no_reaction"}
    assert [name for name, holds in frozen.items() if holds] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("state", "jobs", "seconds", "reason"),
    [
        (states.SERVICE_SCALING, [], 901, "scaling"),
        (states.SERVICE_RUNNING, [make_job(1)], 601, "no_reaction"),
    ],
)
def test_a_pool_that_freezes_with_time(state, jobs, seconds, reason):
    policy, first = PortalPolicy(PREFIX, {}), read(state=state, jobs=jobs)
    memory = decide_portal(policy, first, PortalMemory()).memory
    later = PortalReading(NOW + seconds, first.slurm, first.service, PORTAL_ID, first.worker_vms)
    metrics = pool_metrics(later, decide_portal(policy, later, memory), 0, True)
    assert [name for name, holds in metrics.frozen if holds] == [reason]
