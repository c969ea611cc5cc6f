# SPDX-License-Identifier: GPL-3.0-or-later
"""The client and slurm_node against a real Slurm 22.05. The tests build on each other, in order."""

from __future__ import annotations

import os

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import IDLE_REASON, RETURNING_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PoolSize, count_pending
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import (
    NodeBusyError,
    SlurmError,
    SlurmUnreachableError,
)
from tests.integration.slurm_namespace.cluster import CONTROLLER, CONTROLLER_ADDRESS
from tests.integration.slurm_namespace.module_on_host import run_module_on

SHAPE = WorkerShape(cpus=2, memory_mib=1000, gpus=0, features=frozenset(["worker"]), partitions=frozenset(["main"]))
# Everything that a name may do to a line, and a forged record.
NASTY_NAMES = [
    b"a|b",
    b'x, "y" it\'s',
    "Größe ✓".encode(),
    b"us\x1finside",
    b"rs\x1einside",
    b"new\nline",
    b"tab\tcr\r",
    b"\xff\xfe invalid",
    b"x\x1e4f1c2a\n999\x1f999\x1fN/A\x1fmallory\x1fPENDING\x1fmain",
    b"%s%n{}",
]


def slurm_node(cluster, name, state, **options):
    """Run the module on the controller's host; returns its result."""
    return run_module_on(cluster, CONTROLLER, "slurm_node", {"name": name, "state": state, **options})


def wait_until_idle(cluster, client, name):
    cluster.wait_for(f"{name} to respond", lambda: client.node(name).state == "IDLE+DYNAMIC_NORM")


def test_an_empty_cluster(client):
    assert client.is_controller_up() is True
    assert client.nodes() == client.nodes(with_placeholders=True) == client.jobs() == ()
    assert client.node("w1") is None


def test_a_placeholder_lets_jobs_wait_in_an_empty_cluster(cluster, client):
    result = slurm_node(cluster, "ph-worker", "future", cpus=4, real_memory_mib=2000, features=["worker"], gpus=0)
    assert result["changed"] is True
    node = client.node("ph-worker", with_placeholders=True)
    assert (node.is_future, node.cpus, node.memory_mib, node.features) == (True, 4, 2000, frozenset(["worker"]))
    assert client.nodes() == ()
    again = slurm_node(cluster, "ph-worker", "future", cpus=4, real_memory_mib=2000, features=["worker"])
    assert again["changed"] is False

    fitting = cluster.submit("-c2", "--mem=500", name="fits")
    cluster.submit("-c4", name="too-large-for-a-worker")
    cluster.submit("-H", name="held")
    cluster.submit("--begin=now+1hour", name="later")
    cluster.submit("-n1", "--array=1-9%2", name="array")
    cluster.submit("-C", "worker", name="feature")
    cluster.submit("--exclusive", name="exclusive")
    cluster.submit("--mem=0", name="whole-memory")

    def counted():
        names = {}
        for job in client.jobs():
            count = count_pending([job], [SHAPE], PoolSize(machines=0)).jobs
            if count:
                names[job.name.decode()] = count
        return names

    expected = {"fits": 1, "array": 2, "feature": 1, "exclusive": 1, "whole-memory": 1}
    cluster.wait_for("the scheduler to have looked at every job", lambda: counted() == expected)
    assert cluster.job_state(fitting) == "PENDING"
    cluster.run(CONTROLLER, "scancel", "--user=root")
    cluster.wait_for("no job", lambda: not [job for job in client.jobs() if not job.is_finished])


def test_a_registered_worker_is_read_as_it_is(cluster, client):
    host = cluster.add_worker("w1", cpus=2, memory_mib=1000, features="worker,extra")
    node = client.node("w1")
    assert (node.state, node.address, node.cpus, node.memory_mib) == ("IDLE+DYNAMIC_NORM", host.address, 2, 1000)
    assert (node.features, node.partitions) == (frozenset(["worker", "extra"]), frozenset(["main"]))
    assert node.last_busy_time and node.boot_time and node.slurmd_start_time
    assert [other.name for other in client.nodes()] == ["w1"]


def test_drain_reasons_and_undrain(cluster, client):
    drained = client.drain_node("w1", IDLE_REASON)
    assert (drained.state, drained.reason, drained.reason_user) == ("IDLE+DRAIN+DYNAMIC_NORM", IDLE_REASON, "root")
    assert client.drain_node("w1", RETURNING_REASON).reason == RETURNING_REASON
    undrained = client.undrain_node("w1")
    assert (undrained.has_drain_flag, undrained.reason) == (False, "")
    # On 22.05 an undrained node shows as not responding until it has registered again, seconds later.
    wait_until_idle(cluster, client, "w1")


@pytest.mark.parametrize(
    "reason",
    [
        IDLE_REASON + "\nState=IDLE stays mine",
        IDLE_REASON + " [root@1] Comment=x",
        IDLE_REASON + " [x]",
        "NodeName=w9 State=DOWN",
        "comma, equals=1 [brackets] (x) | bar",
    ],
)
def test_a_reason_of_an_administrator_is_read_as_theirs(cluster, client, reason):
    cluster.run(CONTROLLER, "scontrol", "update", "nodename=w1", "state=drain", f"reason={reason}")
    cluster.run(CONTROLLER, "scontrol", "update", "nodename=w1", "comment=vm 7 Reason=no", "extra=State=DOWN")
    (node,) = client.nodes()
    assert (node.name, node.state) == ("w1", "IDLE+DRAIN+DYNAMIC_NORM")
    assert node.reason not in ("", IDLE_REASON)
    refused = slurm_node(cluster, "w1", "undrained")
    if not reason.startswith("onehpc:"):
        assert refused["failed"] is True
    else:
        assert refused["changed"] is True
    cluster.run(CONTROLLER, "scontrol", "update", "nodename=w1", "state=undrain")
    wait_until_idle(cluster, client, "w1")


def test_slurm_node_drains_and_undrains(cluster, client):
    assert slurm_node(cluster, "w1", "drained", reason="being looked at")["changed"] is True
    assert slurm_node(cluster, "w1", "drained", reason="being looked at")["changed"] is False
    assert client.node("w1").reason == "being looked at"
    assert slurm_node(cluster, "w1", "undrained")["failed"] is True
    assert slurm_node(cluster, "w1", "undrained", reason="being looked at")["changed"] is True
    assert slurm_node(cluster, "w1", "undrained")["changed"] is False
    wait_until_idle(cluster, client, "w1")


def test_no_job_name_disturbs_the_reading(cluster, client):
    for name in NASTY_NAMES:
        cluster.submit("-H", name=os.fsdecode(name))
    found = [job.name for job in client.jobs() if job.is_pending]
    assert sorted(found) == sorted(NASTY_NAMES)
    assert {job.user for job in client.jobs()} == {"root"}
    cluster.run(CONTROLLER, "scancel", "--user=root")


def test_a_busy_node_is_not_deleted(cluster, client):
    job = cluster.submit("-c1")
    cluster.wait_for("the job to run", lambda: cluster.job_state(job) == "RUNNING")
    (live,) = [found for found in client.jobs() if found.is_live]
    assert (live.job_id, live.nodes, live.cpus, live.memory_mib) == (job, ("w1",), 1, 100)
    with pytest.raises(NodeBusyError):
        client.delete_node("w1")
    refused = slurm_node(cluster, "w1", "absent")
    assert refused["failed"] is True
    assert f"job {job} is on it" in refused["msg"]


def test_a_suspended_job_looks_idle_and_is_seen_all_the_same(cluster, client):
    """`scontrol delete` here would kill slurmctld 22.05."""
    (job,) = [found.job_id for found in client.jobs() if found.is_live]
    cluster.run(CONTROLLER, "scontrol", "suspend", str(job))
    cluster.wait_for("the job to be suspended", lambda: cluster.job_state(job) == "SUSPENDED")
    assert client.node("w1").base_state == "IDLE"
    assert [found.state for found in client.jobs() if found.is_live] == ["SUSPENDED"]
    assert slurm_node(cluster, "w1", "absent", force=True)["failed"] is True
    cluster.run(CONTROLLER, "scontrol", "resume", str(job))
    cluster.run(CONTROLLER, "scancel", str(job))
    cluster.wait_for("the node to be empty", lambda: not [found for found in client.jobs() if found.is_live])


def test_a_node_that_a_waiting_job_asks_for_is_not_deleted(cluster, client):
    job = cluster.submit("-H", "-w", "w1")
    assert "asks for it by name" in slurm_node(cluster, "w1", "absent")["msg"]
    cluster.run(CONTROLLER, "scancel", str(job))


def test_delete_and_register_again(cluster, client):
    wait_until_idle(cluster, client, "w1")
    assert slurm_node(cluster, "w1", "absent")["changed"] is True
    assert slurm_node(cluster, "w1", "absent")["changed"] is False
    assert client.node("w1") is None
    client.delete_node("w1")
    cluster.stop_slurmd("w1")
    cluster.start_slurmd("w1")
    assert client.node("w1").is_responding


def test_a_full_node_table_is_said_though_scontrol_ends_well(cluster, client):
    for number in range(4):
        client.create_placeholder(f"ph-{number}", 1, 100, ["worker"])
    with pytest.raises(SlurmError, match="MaxNodeCount"):
        client.create_placeholder("ph-too-many", 1, 100, ["worker"])
    for number in range(4):
        client.delete_node(f"ph-{number}")
    assert {node.name for node in client.nodes(with_placeholders=True)} == {"w1", "ph-worker"}


def test_placeholders_and_drains_survive_a_restart(cluster, client, client_on):
    client.drain_node("w1", IDLE_REASON)
    cluster.stop_controller()
    assert client.is_controller_up() is False
    with pytest.raises(SlurmUnreachableError):
        client_on(CONTROLLER, Deadline(2)).nodes()
    cluster.start_controller()
    cluster.wait_for("w1 to respond", lambda: client.node("w1").is_responding)
    assert client.node("w1").reason == IDLE_REASON
    assert client.node("ph-worker", with_placeholders=True).is_future


def test_a_worker_has_slurms_settings_from_the_controller(client_on):
    worker = client_on("w1")
    assert worker.is_controller_up() is True
    assert [node.name for node in worker.nodes()] == ["w1"]


def test_a_host_without_configuration_is_an_error_and_not_a_controller_that_is_down(cluster, client_on):
    cluster.run("w1", "rm", "-r", "/run/slurm/conf")
    with pytest.raises(SlurmError, match="configuration source"):
        client_on("w1").is_controller_up()


def test_a_host_whose_slurmd_has_not_run_can_ask_the_controller_for_it(client_on, monkeypatch):
    monkeypatch.setenv("SLURM_CONF_SERVER", f"{CONTROLLER_ADDRESS}:6817")
    assert client_on("w1").is_controller_up() is True
