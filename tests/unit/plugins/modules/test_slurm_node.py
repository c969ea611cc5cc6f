# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_node at its outer door."""

from __future__ import annotations

import pytest

from tests.unit.plugins.fake_slurm import FakeSlurm
from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.slurm_samples import VERSIONS, recorded


@pytest.fixture
def slurm(tmp_path):
    fake = FakeSlurm(tmp_path / "bin")
    fake.replay(recorded("22.05", "idle-no-jobs", "nodes"), b"")
    return fake


def run(slurm, name, state, check_mode=False, **options):
    return run_module("slurm_node", {"name": name, "state": state, **options}, check_mode, slurm.environment)


def changes(slurm):
    """The commands that change something."""
    return [call for call in slurm.calls() if call.split()[1] in ("update", "create", "delete")]


def put_reason(slurm, name, state, reason, user="admin"):
    slurm.rewrite_node(name, "State=IDLE", f"State={state}")
    nodes = slurm.state["nodes"]
    nodes[name] += f" Reason={reason} [{user}@1796045808]"
    slurm.change(nodes=nodes)


def test_drain_is_idempotent(slurm):
    first = run(slurm, "w1", "drained", reason="disk, please")
    assert (first.exit_code, first.result["changed"], first.result["state_before"]) == (0, True, "IDLE+DYNAMIC_NORM")
    assert first.result["diff"]["after"] == {"state": "DRAIN", "reason": "disk, please"}
    assert changes(slurm) == ["scontrol update nodename=w1 state=drain reason=disk, please"]
    second = run(slurm, "w1", "drained", reason="disk, please")
    assert (second.result["changed"], second.result["reason_before"]) == (False, "disk, please")
    assert changes(slurm) == []


def test_check_mode_says_the_same_and_changes_nothing(slurm):
    told = run(slurm, "w1", "drained", check_mode=True, reason="disk")
    assert changes(slurm) == []
    done = run(slurm, "w1", "drained", reason="disk")
    assert {**told.result, "invocation": 0} == {**done.result, "invocation": 0}


def test_a_foreign_drain_keeps_its_reason(slurm):
    put_reason(slurm, "w1", "IDLE+DRAIN", "theirs")
    drained = run(slurm, "w1", "drained", reason="mine")
    assert (drained.exit_code, drained.result["changed"]) == (0, False)
    assert drained.result["why"] == "The node is drained already, by admin with 'theirs': kept."
    undrained = run(slurm, "w1", "undrained")
    assert undrained.failed
    assert "admin left the reason 'theirs'" in undrained.result["msg"]
    assert run(slurm, "w1", "undrained", reason="mine").failed
    assert run(slurm, "w1", "absent").failed
    assert run(slurm, "w1", "down", reason="mine").failed
    assert changes(slurm) == []


def test_the_reason_named_or_force_opens_it(slurm):
    put_reason(slurm, "w1", "IDLE+DRAIN", "theirs")
    put_reason(slurm, "w2", "IDLE+DRAIN", "theirs")
    assert run(slurm, "w1", "undrained", reason="theirs").result["changed"] is True
    assert run(slurm, "w2", "drained", reason="mine", force=True).result["changed"] is True
    assert "Reason=mine" in slurm.node("w2")
    assert run(slurm, "w2", "absent", force=True).result["changed"] is True


def test_a_drain_of_this_collection_can_be_undone(slurm):
    put_reason(slurm, "w1", "IDLE+DRAIN", "onehpc:policies:idle", "root")
    assert run(slurm, "w1", "undrained").result["changed"] is True
    assert changes(slurm) == ["scontrol update nodename=w1 state=undrain"]
    assert run(slurm, "w1", "undrained").result["changed"] is False


def test_down(slurm):
    assert run(slurm, "w1", "down", reason="gone").result["changed"] is True
    assert run(slurm, "w1", "down", reason="gone").result["changed"] is False
    assert changes(slurm) == ["scontrol update nodename=w1 state=down reason=gone"]


def test_placeholder(slurm):
    shape = {"cpus": 2, "real_memory_mib": 3686, "features": ["worker", "big"], "gpus": 1}
    assert run(slurm, "ph-worker", "future", **shape).result["changed"] is True
    assert changes(slurm) == [
        "scontrol create NodeName=ph-worker CPUs=2 RealMemory=3686 State=FUTURE Feature=worker,big Gres=gpu:1"
    ]
    assert run(slurm, "ph-worker", "future", **shape).result["changed"] is False
    other = run(slurm, "ph-worker", "future", **{**shape, "cpus": 4})
    assert other.result["changed"] is True
    assert [call.split()[1] for call in changes(slurm)] == ["delete", "create"]
    assert run(slurm, "ph-worker", "absent").result["changed"] is True
    assert run(slurm, "ph-worker", "absent").result["changed"] is False


def test_a_machine_is_never_made_a_placeholder(slurm):
    refused = run(slurm, "w1", "future", cpus=2, real_memory_mib=100)
    assert refused.failed
    assert "is a machine" in refused.result["msg"]
    assert changes(slurm) == []


def test_a_full_table_is_said(slurm):
    slurm.change(full=True)
    assert "MaxNodeCount" in run(slurm, "ph-worker", "future", cpus=2, real_memory_mib=100).result["msg"]


def test_absent(slurm):
    assert run(slurm, "w1", "absent").result["changed"] is True
    assert slurm.node("w1") == ""
    assert run(slurm, "w1", "absent").result["changed"] is False
    assert changes(slurm) == ["scontrol delete nodename=w1"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["w2", "w3"])
def test_a_node_with_a_job_is_never_deleted_not_even_by_force(slurm, version, name):
    """w2 holds only a suspended job and looks idle on 22.05: deleting it would kill slurmctld. w3: completing."""
    scenario = "suspended-and-completing"
    slurm.replay(recorded(version, scenario, "nodes"), recorded(version, scenario, "squeue"))
    refused = run(slurm, name, "absent", force=True)
    assert refused.failed
    assert "is on it" in refused.result["msg"]
    assert changes(slurm) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_node_that_a_waiting_job_asks_for_is_not_deleted(slurm, version):
    slurm.replay(recorded(version, "mixed", "nodes"), recorded(version, "node-deleted", "squeue"))
    refused = run(slurm, "w3", "absent")
    assert refused.failed
    assert "asks for it by name" in refused.result["msg"]


def test_slurmctlds_own_refusal(slurm):
    slurm.change(busy=["w1"])
    assert "a job still uses it" in run(slurm, "w1", "absent").result["msg"]


@pytest.mark.parametrize("state", ["drained", "undrained", "down"])
def test_a_node_that_is_not_there(slurm, state):
    refused = run(slurm, "w9", state, reason="x")
    assert refused.failed
    assert "There is no node w9" in refused.result["msg"]


@pytest.mark.parametrize(
    "options", [{"state": "drained"}, {"state": "down"}, {"state": "future", "cpus": 1}, {"state": "x"}]
)
def test_missing_options(slurm, options):
    assert run(slurm, "w1", **options).failed
    assert slurm.calls() == []


@pytest.mark.parametrize("name", ["ALL", "w[1-3]", "w1,w2"])
def test_only_one_node_at_a_time(slurm, name):
    assert "is not the name of one node" in run(slurm, name, "absent").result["msg"]
    assert changes(slurm) == []


def test_a_controller_that_is_down(slurm):
    slurm.change(ping="DOWN")
    refused = run(slurm, "w1", "absent")
    assert refused.failed
    assert "slurmctld does not answer" in refused.result["msg"]
