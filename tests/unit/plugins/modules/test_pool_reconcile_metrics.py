# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that the portal's tick leaves for Prometheus and for the forms, at its outer door."""

from __future__ import annotations

import json
import os
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.plugins.pool_service import PoolService

DBD_QUEUE = "Agent queue size:     0\nDBD Agent queue size: 7\n"


@pytest.fixture
def pool(onegate, connection, tmp_path):
    """VM 2 is the portal, 1 and 3 are its workers."""
    service = PoolService(onegate, connection, tmp_path)
    service.list_workers(1, 3, own_role="portal")
    service.slurm.change(faults={"sdiag": [0, DBD_QUEUE, "", 0]})
    service.metrics = tmp_path / "metrics"
    service.metrics.mkdir()
    service.limits = tmp_path / "limits.json"
    service.arguments.update(
        node_prefix="w",
        memory_path=str(service.memory),
        metrics_path=str(service.metrics),
        limits_path=str(service.limits),
    )
    return service


def samples(pool, name):
    """Metric -> {its labels' values: value}."""
    return {
        family.name: {" ".join(sample.labels.values()): sample.value for sample in family.samples}
        for family in text_string_to_metric_families((pool.metrics / name).read_text())
    }


def age(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_tick_leaves_its_metrics(pool):
    before = int(time.time())
    assert not pool.run("pool_reconcile").failed
    metrics = samples(pool, "onehpc_pool.prom")
    assert metrics["ood_exporter_scrape_ok"] == {"": 1}
    assert metrics["ood_role_cardinality"]["worker"] == 2
    assert metrics["ood_slurm_pending"] == {"worker": 0}
    assert metrics["ood_slurm_idle_nodes"] == {"": 3}
    decision = samples(pool, "onehpc_decision.prom")["ood_pool_last_decision_timestamp_seconds"]
    assert list(decision) == ["placeholder"]
    assert before <= decision["placeholder"] <= time.time()
    assert samples(pool, "onehpc_accounting.prom") == {"ood_slurmdbd_backlog_messages": {"": 7}}
    assert {file.stat().st_mode & 0o777 for file in pool.metrics.iterdir()} == {0o644}
    assert len(list(pool.metrics.iterdir())) == 3


def test_the_next_tick_changes_nothing_but_writes_again(pool):
    pool.run("pool_reconcile")
    decision = (pool.metrics / "onehpc_decision.prom").read_text()
    for file in pool.metrics.iterdir():
        age(file, 200)
    pool.forget_calls()
    run = pool.run("pool_reconcile")
    assert run.result["changed"] is False
    assert "sdiag" not in pool.slurm.calls()
    ages = {file.name: time.time() - file.stat().st_mtime for file in pool.metrics.iterdir()}
    assert ages.pop("onehpc_pool.prom") < 100
    assert min(ages.values()) > 100
    assert (pool.metrics / "onehpc_decision.prom").read_text() == decision


def test_the_accounting_is_asked_every_five_minutes(pool):
    pool.run("pool_reconcile")
    age(pool.metrics / "onehpc_accounting.prom", 301)
    pool.forget_calls()
    pool.slurm.change(faults={"sdiag": [1, "", "sdiag: error\n", 0]})
    assert not pool.run("pool_reconcile").failed
    assert pool.slurm.calls().count("sdiag") == 1
    assert samples(pool, "onehpc_accounting.prom") == {}


def test_a_controller_that_is_down_is_not_asked(pool):
    pool.slurm.change(ping="DOWN")
    assert not pool.run("pool_reconcile").failed
    assert "sdiag" not in pool.slurm.calls()
    metrics = samples(pool, "onehpc_pool.prom")
    assert metrics["ood_exporter_scrape_ok"] == {"": 0}
    assert metrics["ood_role_cardinality"]["worker"] == 2
    assert not pool.limits.exists()


@pytest.mark.parametrize("source", ["slurm", "onegate"])
def test_a_tick_that_fails_writes_what_it_knows(pool, source):
    pool.run("pool_reconcile")
    if source == "slurm":
        pool.slurm.change(faults={"squeue": [1, "", "slurm_load_jobs error: broken\n", 0]})
    else:
        pool.onegate.answer = lambda request: (500, "broken")
    run = pool.run("pool_reconcile")
    assert run.failed
    metrics = samples(pool, "onehpc_pool.prom")
    assert metrics["ood_exporter_scrape_ok"] == {"": 0}
    assert ("ood_role_cardinality" in metrics) is (source == "slurm")
    assert "ood_slurm_pending" not in metrics


def test_a_folder_that_is_not_there_is_named_once_all_is_done(pool):
    pool.metrics.rmdir()
    run = pool.run("pool_reconcile")
    assert run.failed
    assert "metrics/onehpc_pool.prom cannot be written: No such file or directory" in run.result["msg"]
    assert pool.slurm.node("ph-worker")
    assert pool.limits.exists()


def test_a_failure_of_the_tick_is_not_hidden_by_that(pool):
    pool.metrics.rmdir()
    pool.slurm.change(faults={"squeue": [1, "", "slurm_load_jobs error: broken\n", 0]})
    assert "broken" in pool.run("pool_reconcile").result["msg"]


def test_check_mode_and_a_tick_without_paths_leave_no_file(pool):
    assert pool.run("pool_reconcile", check_mode=True).result["changed"] is True
    assert not pool.run("pool_reconcile", metrics_path=None, limits_path=None).failed
    assert list(pool.metrics.iterdir()) == []
    assert not pool.limits.exists()
    assert "sdiag" not in pool.slurm.calls()


def test_limits_are_written_when_they_change(pool):
    told, done, again = (
        pool.run("pool_reconcile", check_mode=check_mode).result for check_mode in (True, False, False)
    )
    path = str(pool.limits)
    limits = {"roles": {"worker": {"cores": 5, "memory_mib": 8000, "gpus": 1}}}  # of the recorded nodes
    assert json.loads(pool.limits.read_text()) == limits
    assert told["diff"]["after"][path] == done["diff"]["after"][path] == pool.limits.read_text()
    assert (told["diff"]["before"][path], again["changed"]) == ("", False)
    bigger = pool.run("pool_reconcile", shapes="worker:cpus=8:mem=9000:gpus=1").result
    assert bigger["changed"] is True
    assert json.loads(bigger["diff"]["before"][path]) == limits
    assert json.loads(pool.limits.read_text())["roles"]["worker"] == {"cores": 8, "memory_mib": 9000, "gpus": 1}
