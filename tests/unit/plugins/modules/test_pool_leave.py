# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker's last act at its outer door."""

from __future__ import annotations

import time

import pytest

from tests.unit.plugins.onegate_double import TOKEN
from tests.unit.plugins.pool_service import OWN, PoolService
from tests.unit.plugins.slurm_samples import VERSIONS, recorded

READS = ["scontrol ping", "scontrol -o show node", "squeue -h -a -t all -O"]


@pytest.fixture
def pool(onegate, connection, tmp_path):
    service = PoolService(onegate, connection, tmp_path)
    service.list_workers(2, 3, 1)
    service.arguments.update(node_name=OWN)
    onegate.user_template().update(SLURM_PENDING="7", OLDEST_IDLE="1")
    return service


def leave(pool, check_mode=False, **changes):
    run = pool.run("pool_leave", check_mode, **changes)
    assert TOKEN not in run.output
    return run


def test_an_idle_worker_takes_its_node_with_it(pool):
    run = leave(pool)
    assert (run.result["deleted"], run.result["changed"]) == (True, True)
    assert run.result["diff"]["after"] == {"node": "absent"}
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    assert abs(int(pool.onegate.user_template()["REPORT_TIME"]) - time.time()) < 60
    assert pool.onegate.calls() == ["PUT /vm"]
    assert pool.slurm.calls() == [*READS, "scontrol delete nodename=w2", "scontrol -o -F show node w2"]
    assert sorted(pool.slurm.state["nodes"]) == ["w1", "w3"]


@pytest.mark.parametrize("reason", ["onehpc:policies:idle", "onehpc:policies:returning", "onehpc:direct:idle"])
def test_our_own_drain_does_not_keep_the_node(pool, reason):
    pool.slurm.rewrite_node(OWN, "State=IDLE", "State=IDLE+DRAIN")
    nodes = pool.slurm.state["nodes"]
    nodes[OWN] += f" Reason={reason} [root@1796045808]"
    pool.slurm.change(nodes=nodes)
    assert leave(pool).result["deleted"] is True


@pytest.mark.parametrize("state", ["State=IDLE+DRAIN", "State=IDLE"])
def test_a_foreign_word_does(pool, state):
    pool.slurm.rewrite_node(OWN, "State=IDLE", state)
    nodes = pool.slurm.state["nodes"]
    nodes[OWN] += " Reason=disk, broken [admin@1796045808]"
    pool.slurm.change(nodes=nodes)
    run = leave(pool)
    assert (run.exit_code, run.result["deleted"]) == (0, False)
    assert "admin left the reason 'disk, broken'" in run.result["why"]
    assert pool.slurm.node(OWN)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_suspended_job_keeps_the_node_though_it_looks_idle(pool, version):
    """w2 of the recording holds only a suspended job; deleting it would kill slurmctld 22.05."""
    scenario = "suspended-and-completing"
    pool.slurm.replay(recorded(version, scenario, "nodes"), recorded(version, scenario, "squeue"))
    run = leave(pool)
    assert (run.exit_code, run.result["deleted"]) == (0, False)
    assert "is on it or asks for it" in run.result["why"]
    assert pool.slurm.calls() == READS


def test_slurmctlds_own_refusal_is_no_failure(pool):
    pool.slurm.change(busy=[OWN])
    run = leave(pool)
    assert (run.exit_code, run.result["deleted"]) == (0, False)
    assert "a job still uses it" in run.result["why"]


def test_a_worker_without_a_node(pool):
    pool.slurm.change(nodes={})
    run = leave(pool)
    assert (run.exit_code, run.result["why"]) == (0, "Node w2 is not registered.")


def test_a_controller_that_is_down_is_no_failure(pool):
    pool.slurm.change(ping="DOWN")
    run = leave(pool)
    assert (run.exit_code, run.result["deleted"]) == (0, False)
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}


def test_without_onegate_the_node_still_goes(pool):
    pool.onegate.fault("status", status=500, body="Internal server error")
    run = leave(pool, timeout_seconds=6)
    assert run.failed
    assert "answered 500 to PUT /vm" in run.result["msg"]
    assert run.result["msg"].endswith("Node w2 was deleted.")
    assert pool.slurm.node(OWN) == ""


def test_without_slurm_the_figures_are_still_published(pool):
    pool.slurm.change(faults={"squeue": [1, "", "slurm_load_jobs error: broken\n", 0]})
    run = leave(pool)
    assert run.failed
    assert "broken" in run.result["msg"]
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    assert pool.slurm.node(OWN)


def test_check_mode_touches_nothing(pool):
    run = leave(pool, check_mode=True)
    assert (run.result["deleted"], run.result["changed"]) == (True, True)
    assert pool.onegate.calls() == []
    assert pool.slurm.calls() == READS
