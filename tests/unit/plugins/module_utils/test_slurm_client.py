# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's commands: what is called, and that an error is never an empty list."""

from __future__ import annotations

import time

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import (
    NodeBusyError,
    SlurmError,
    SlurmUnreachableError,
)
from tests.unit.plugins.fake_slurm import UNREACHABLE, FakeSlurm
from tests.unit.plugins.slurm_samples import recorded


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    fake = FakeSlurm(tmp_path / "bin")
    fake.replay(recorded("22.05", "mixed", "nodes"), recorded("22.05", "mixed", "squeue"))
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    return fake


@pytest.fixture
def client():
    return SlurmClient()


def test_the_three_reads(slurm, client):
    assert client.is_controller_up() is True
    assert [node.name for node in client.nodes()] == ["w1", "w2", "w3"]
    assert len(client.jobs()) == 47
    environment = {
        "SLURM_CONF": "/dev/null", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0", "LC_ALL": "C"
    }  # fmt: skip
    assert slurm.environments() == [environment] * 3
    assert slurm.calls() == ["scontrol ping", "scontrol -o show node", "squeue -h -a -t all -O"]


def test_only_the_place_of_the_configuration_is_taken_over(slurm, client, monkeypatch):
    for name in ("SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SQUEUE_STATES", "SINFO_FORMAT"):
        monkeypatch.setenv(name, "x")
    client.nodes()
    (environment,) = slurm.environments()
    assert set(environment) == {"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN", "LC_ALL"}


def test_every_squeue_has_a_token_of_its_own(slurm):
    tokens = iter(["aa", "bb"])
    client = SlurmClient(new_token=lambda: next(tokens))
    assert len(client.jobs()) == len(client.jobs()) == 47
    assert next(tokens, None) is None


def test_no_nodes_and_no_jobs(slurm, client):
    slurm.replay(recorded("22.05", "only-placeholder", "nodes"), b"")
    assert client.nodes() == client.jobs() == ()
    assert client.node("w1") is None


@pytest.mark.parametrize("read", ["nodes", "jobs"])
def test_a_stopped_controller_is_no_empty_list(slurm, client, read):
    slurm.change(ping="DOWN")
    assert client.is_controller_up() is False
    with pytest.raises(SlurmUnreachableError, match="Unable to contact"):
        getattr(client, read)()


@pytest.mark.parametrize(
    ("command", "read"), [("scontrol -o show node", "nodes"), ("squeue", "jobs"), ("scontrol ping", "is_controller_up")]
)
def test_a_missing_configuration_is_an_error(slurm, client, command, read):
    slurm.change(faults={command: [1, "", "scontrol: fatal: Could not establish a configuration source\n", 0]})
    with pytest.raises(SlurmError, match="Could not establish a configuration source"):
        getattr(client, read)()


def test_a_warning_makes_the_answer_unusable(slurm, client):
    """An unknown column gives return code 0 and an empty column, and only stderr tells."""
    slurm.change(faults={"squeue": [0, "", "squeue: error: Invalid job format specification: Nme\n", 0]})
    with pytest.raises(SlurmError, match="Invalid job format specification"):
        client.jobs()


def test_a_silent_controller_costs_no_more_than_the_deadline(slurm):
    slurm.change(faults={"scontrol -o show node": [0, "", "", 30]})
    started = time.monotonic()
    with pytest.raises(SlurmUnreachableError, match="did not end within"):
        SlurmClient(Deadline(0.6)).nodes()
    assert time.monotonic() - started < 5


def test_a_silent_ping_means_not_up(slurm):
    slurm.change(faults={"scontrol ping": [0, "", "", 30]})
    assert SlurmClient(Deadline(0.6)).is_controller_up() is False


def test_a_missing_program_is_said(client, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlurmError, match="'scontrol' cannot be run: No such file"):
        client.nodes()


def test_drain_reason_and_undrain(slurm, client):
    slurm.calls()
    assert client.drain_node("w1", "a reason, [of] mine").reason == "a reason, [of] mine"
    assert client.drain_node("w1", "another").reason == "another"
    node = client.undrain_node("w1")
    assert (node.has_drain_flag, node.reason) == (False, "")
    assert slurm.calls() == [
        "scontrol update nodename=w1 state=drain reason=a reason, [of] mine",
        "scontrol -o show node w1",
        "scontrol update nodename=w1 state=drain reason=another",
        "scontrol -o show node w1",
        "scontrol update nodename=w1 state=undrain",
        "scontrol -o show node w1",
    ]


def test_a_change_that_did_not_take_is_an_error(slurm, client):
    client.drain_node("w2", "x")
    slurm.change(faults={"scontrol update": [0, "", "", 0]})
    with pytest.raises(SlurmError, match="w1 is not drained after 'scontrol update'"):
        client.drain_node("w1", "x")
    with pytest.raises(SlurmError, match="w2 is not undrained after 'scontrol update'"):
        client.undrain_node("w2")


@pytest.mark.parametrize("name", ["ALL", "all", "w[1-3]", "w1,w2", "", "-x", "w1 state=down", "w1\n"])
def test_only_one_plain_name_is_ever_passed_on(slurm, client, name):
    for change in (client.delete_node, client.undrain_node, lambda name: client.drain_node(name, "x"), client.node):
        with pytest.raises(SlurmError, match="is not the name of one node"):
            change(name)
    assert slurm.calls() == []


@pytest.mark.parametrize("reason", ["", "two\nlines", '"quoted"', " blank", "tab\t"])
def test_a_reason_slurm_would_change_is_refused(slurm, client, reason):
    with pytest.raises(SlurmError, match="cannot be put on a node"):
        client.drain_node("w1", reason)
    assert slurm.calls() == []


def test_delete(slurm, client):
    client.delete_node("w1")
    assert slurm.node("w1") == ""
    client.delete_node("w1")  # gone already: no error


def test_delete_of_a_busy_node(slurm, client):
    slurm.change(busy=["w3"])
    with pytest.raises(NodeBusyError, match="w3: a job still uses it"):
        client.delete_node("w3")
    assert slurm.node("w3")


def test_delete_that_crashes_the_controller(slurm, client):
    said = "scontrol: error: Zero Bytes were transmitted or received\n"
    slurm.change(faults={"scontrol delete": [1, "", said, 0]})
    with pytest.raises(SlurmError, match="Zero Bytes"):
        client.delete_node("w1")


def test_delete_that_did_not_take_is_an_error(slurm, client):
    slurm.change(faults={"scontrol delete": [0, "", "", 0]})
    with pytest.raises(SlurmError, match="still there"):
        client.delete_node("w1")


def test_placeholder(slurm, client):
    node = client.create_placeholder("ph-worker", 4, 8000, ["big", "worker"], gpus=2)
    assert (node.is_future, node.cpus, node.memory_mib, node.gpus) == (True, 4, 8000, 2)
    assert node.features == {"big", "worker"}
    assert "ph-worker" not in [node.name for node in client.nodes()]
    assert "ph-worker" in [node.name for node in client.nodes(with_placeholders=True)]
    assert slurm.calls()[0] == (
        "scontrol create NodeName=ph-worker CPUs=4 RealMemory=8000 State=FUTURE Feature=big,worker Gres=gpu:2"
    )


def test_a_full_node_table_is_said(slurm, client):
    slurm.change(full=True)
    with pytest.raises(SlurmError, match="MaxNodeCount"):
        client.create_placeholder("ph-worker", 4, 8000, ["worker"])


def test_set_down(slurm, client):
    assert client.set_node_down("w2", "gone").base_state == "DOWN"


def test_an_unknown_node(slurm, client):
    with pytest.raises(SlurmError, match="Invalid node name specified"):
        client.undrain_node("w9")
    slurm.change(faults={"scontrol -o show node": [1, "", f"slurm_load_node error: {UNREACHABLE}\n", 0]})
    with pytest.raises(SlurmUnreachableError):
        client.node("w1")
