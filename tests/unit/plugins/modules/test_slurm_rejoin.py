# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_rejoin at its outer door: the record of an earlier boot goes, what somebody had put on it does not."""

from __future__ import annotations

import json

import pytest

from tests.unit.plugins.fake_slurm import FakeSlurm
from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.slurm_samples import VERSIONS, recorded


@pytest.fixture
def slurm(tmp_path):
    fake = FakeSlurm(tmp_path / "bin")
    fake.replay(recorded("22.05", "idle-no-jobs", "nodes"), b"")
    return fake


class Host:
    """A worker whose node is w1."""

    def __init__(self, slurm, folder):
        self.slurm = slurm
        self.memory = folder / "rejoin.json"
        self.marker = folder / "run" / "rejoin"

    def step(self, state, name="w1", check_mode=False, wait_seconds=0):
        options = {"memory_path": str(self.memory), "marker_path": str(self.marker), "controller": "10.0.0.5:6817"}
        options.update(name=name, state=state, wait_seconds=wait_seconds)
        return run_module("slurm_rejoin", options, check_mode, self.slurm.environment)

    def clear(self, **options):
        done = self.step("cleared", **options)
        assert done.exit_code == 0, done.result
        return done.result

    def restore(self, **options):
        done = self.step("restored", **options)
        assert done.exit_code == 0, done.result
        return done.result

    def boot(self):
        """Power on: what lies below /run is gone."""
        self.marker.unlink(missing_ok=True)

    def register(self, record, state="IDLE"):
        """slurmd starts: a new record, as the shape of an old one."""
        self.slurm.change(nodes={**self.slurm.state["nodes"], "w1": record})
        self.slurm.rewrite_node("w1", "State=IDLE", f"State={state}")

    def put(self, name, state, reason, user="admin"):
        self.slurm.rewrite_node(name, "State=IDLE", f"State={state}")
        nodes = self.slurm.state["nodes"]
        nodes[name] += f" Reason={reason} [{user}@1796045808]" if reason else ""
        self.slurm.change(nodes=nodes)

    def changes(self):
        return [call for call in self.slurm.calls() if call.split()[1] in ("update", "create", "delete")]


@pytest.fixture
def host(slurm, tmp_path):
    return Host(slurm, tmp_path)


def test_the_record_of_an_earlier_boot_is_deleted_once_in_a_boot(host, slurm):
    record = slurm.node("w1")
    first = host.clear()
    assert (first["changed"], first["starts_drained"]) == (True, False)
    assert first["diff"]["after"] == {"state": "absent", "reason": ""}
    assert host.changes() == ["scontrol delete nodename=w1"]
    host.register(record)
    assert host.clear()["changed"] is False
    assert host.changes() == []
    host.boot()
    assert host.clear()["changed"] is True


def test_nothing_to_do_for_a_new_worker(host):
    assert host.clear(name="w9")["why"] == "There is no record of an earlier boot."
    restored = host.restore(name="w9")
    assert (restored["changed"], restored["why"]) == (False, "There is nothing to set again.")
    assert host.changes() == []


@pytest.mark.parametrize(
    ("state", "reason", "user", "word", "starts_drained"),
    [
        ("IDLE+DRAIN", "disk, [sda] = bad", "admin", "disk, [sda] = bad", True),
        ("IDLE+DRAIN", "Kill task failed", "slurm", "Kill task failed", True),
        ("IDLE+DRAIN", "onehpc:policies:idle but keep it", "root", "onehpc:policies:idle but keep it", True),
        ("DOWN+NOT_RESPONDING", "no fan", "admin", "no fan", True),
        ("IDLE+FAIL", "no fan", "admin", "no fan", True),
        ("IDLE", "watch it", "admin", "watch it", False),
    ],
)
def test_somebodys_word_outlives_the_record(host, slurm, state, reason, user, word, starts_drained):
    record = slurm.node("w1")
    host.put("w1", state, reason, user)
    assert host.clear()["starts_drained"] is starts_drained
    assert host.changes() == ["scontrol delete nodename=w1"]
    host.register(record, "IDLE+DRAIN" if starts_drained else "IDLE")
    restored = host.restore()
    assert (restored["changed"], restored["diff"]["after"]) == (True, {"reason": word})
    drain = "state=drain " if starts_drained else ""
    assert host.changes() == [f"scontrol update nodename=w1 {drain}reason={word}"]
    assert host.restore()["changed"] is False
    assert (host.changes(), host.memory.exists()) == ([], False)


@pytest.mark.parametrize(
    ("state", "reason", "user"),
    [
        ("IDLE", "", ""),
        ("IDLE+DRAIN", "onehpc:policies:idle", "root"),
        ("IDLE+DRAIN", "onehpc:policies:returning", "root"),
        ("IDLE+DRAIN", "onehpc:direct:idle", "root"),
        ("DOWN", "onehpc:policies:vm-gone", "root"),
        ("DOWN+NOT_RESPONDING", "Not responding", "slurm"),
        ("DOWN", "Node unexpectedly rebooted", "slurm"),
    ],
)
def test_our_own_word_and_slurms_on_the_lost_machine_go_with_the_record(host, state, reason, user):
    host.put("w1", state, reason, user)
    assert host.clear()["starts_drained"] is False
    assert host.changes() == ["scontrol delete nodename=w1"]
    assert not host.memory.exists()


def test_a_word_is_kept_until_it_is_set_again_however_often_the_boot_fails(host, slurm):
    record = slurm.node("w1")
    host.put("w1", "IDLE+DRAIN", "theirs")
    host.clear()
    assert host.step("restored").failed, "slurmd has not registered"
    assert host.clear()["starts_drained"] is True
    host.boot()
    assert host.clear()["starts_drained"] is True
    host.register(record, "IDLE+DRAIN")
    assert host.restore()["why"] == "'theirs' is set again."


def test_a_drain_without_a_reason_stays_one(host, slurm):
    record = slurm.node("w1")
    host.put("w1", "IDLE+DRAIN", "")
    assert host.clear()["starts_drained"] is True
    host.changes()
    host.register(record, "IDLE+DRAIN")
    host.restore()
    assert (host.changes(), host.memory.exists()) == ([], False)


def test_a_drain_without_a_reason_is_given_one_where_slurmd_did_not_register_drained(host, slurm):
    record = slurm.node("w1")
    host.put("w1", "IDLE+DRAIN", "")
    host.clear()
    host.register(record)
    host.changes()
    host.restore()
    assert host.changes() == ["scontrol update nodename=w1 state=drain reason=drained before the machine was made anew"]


def test_a_newer_word_stands(host, slurm):
    record = slurm.node("w1")
    host.put("w1", "IDLE+DRAIN", "theirs")
    host.clear()
    host.register(record)
    host.put("w1", "IDLE+DRAIN", "newer", "boss")
    host.changes()
    assert host.restore()["why"] == "'newer' stands."
    assert (host.changes(), host.memory.exists()) == ([], False)


def test_a_mere_remark_does_not_stand_for_a_drain(host, slurm):
    record = slurm.node("w1")
    host.put("w1", "IDLE+DRAIN", "theirs")
    host.clear()
    host.register(record)
    host.put("w1", "IDLE", "a remark", "boss")
    host.changes()
    host.restore()
    assert host.changes() == ["scontrol update nodename=w1 state=drain reason=theirs"]


def test_the_memory_of_another_node_is_void(host):
    host.memory.write_text(json.dumps({"node_name": "w7", "reason": "theirs", "keeps_jobs_off": True}))
    assert host.clear()["starts_drained"] is False
    assert host.restore()["changed"] is False


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "reason"), [("w2", "onehpc:policies:vm-gone"), ("w3", "onehpc:direct test")])
def test_jobs_of_the_lost_machine_end_before_the_record_goes(slurm, host, version, name, reason):
    """w2 holds only a suspended job and looks idle on 22.05: deleting it would kill slurmctld.

    w3's job is completing, and somebody's word is on it.
    """
    scenario = "suspended-and-completing"
    slurm.replay(recorded(version, scenario, "nodes"), recorded(version, scenario, "squeue"))
    assert "is gone, so it ended." in host.clear(name=name)["why"]
    assert host.changes() == [
        f"scontrol update nodename={name} state=down reason={reason}",
        f"scontrol delete nodename={name}",
    ]


def test_a_drained_node_with_a_job_keeps_its_reason_when_it_is_set_down(slurm, host):
    slurm.replay(recorded("22.05", "mixed", "nodes"), recorded("22.05", "mixed", "squeue"))
    name = next(name for name in ("w1", "w2", "w3") if "State=MIXED" in slurm.node(name))
    slurm.rewrite_node(name, "State=MIXED", "State=MIXED+DRAIN")
    nodes = slurm.state["nodes"]
    nodes[name] += " Reason=theirs [admin@1796045808]"
    slurm.change(nodes=nodes)
    assert host.clear(name=name)["starts_drained"] is True
    assert host.changes()[0] == f"scontrol update nodename={name} state=down reason=theirs"


def test_a_busy_node_stays(slurm, host):
    slurm.change(busy=["w1"])
    assert "stays: slurmctld did not delete node w1: a job still uses it." in host.clear()["why"]
    assert slurm.node("w1")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_record_that_a_waiting_job_asks_for_stays(slurm, host, version):
    slurm.replay(recorded(version, "mixed", "nodes"), recorded(version, "node-deleted", "squeue"))
    told = host.clear(name="w3")
    assert "The record of an earlier boot stays" in told["why"]
    assert not [call for call in host.changes() if " delete " in call]


def test_a_controller_that_is_down_is_said_and_nothing_is_taken_as_done(slurm, host):
    slurm.change(ping="DOWN")
    refused = host.step("cleared")
    assert refused.failed
    assert "Node w1 cannot be cleared within 0 s: " in refused.result["msg"]
    assert not host.marker.exists()
    slurm.change(ping="UP")
    assert host.clear()["changed"] is True
