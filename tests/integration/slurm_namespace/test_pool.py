# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool's ticks against a real Slurm 22.05 and a loopback OneGate: a worker drains, returns, leaves, vanishes.

The tests build on each other, in order. Hosts are the nodes ood-worker-3 (the oldest) and ood-worker-4.
"""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.integration.slurm_namespace.cluster import CONTROLLER
from tests.integration.slurm_namespace.module_on_host import run_module_on
from tests.integration.slurm_namespace.relay import Relay
from tests.unit.plugins.onegate_double import TOKEN, OneGateDouble, service_body, vm_body

PREFIX = "ood-worker-"
OLDEST, YOUNGER = f"{PREFIX}3", f"{PREFIX}4"
PORTAL_ID = 2


class Pool:
    """Runs ticks on hosts; each host speaks to OneGate as its own VM."""

    def __init__(self, cluster, onegate, endpoint, directory):
        self.cluster = cluster
        self.onegate = onegate
        self.directory = directory
        self._endpoint = endpoint
        onegate.vms = {PORTAL_ID: vm_body(PORTAL_ID, "portal", address="10.99.0.1")}
        self.list_workers(3, 4)

    def list_workers(self, *vm_ids):
        self.onegate.service = service_body(storage=[1], portal=[PORTAL_ID], worker=vm_ids)
        for vm_id in vm_ids:
            self.onegate.vms.setdefault(vm_id, vm_body(vm_id, "worker", address=f"10.99.0.{8 + vm_id}"))

    def run(self, host, vm_id, module, **arguments):
        """Run a module; OneGate takes the call for that VM's."""
        self.onegate.own_vm_id = vm_id
        one_env = self.directory / f"one_env-{vm_id}"
        one_env.write_text(f'export TOKENTXT="{TOKEN}"\nexport VMID="{vm_id}"\n')
        connection = {
            "endpoint": self._endpoint, "one_env": str(one_env), "endpoint_file": str(self.directory / "endpoint")
        }  # fmt: skip
        result = run_module_on(self.cluster, host, module, {**connection, **arguments})
        assert not result.get("failed"), result["msg"]
        return result

    def report(self, vm_id, **arguments):
        name = f"{PREFIX}{vm_id}"
        memory_path, probe_path = (str(self.directory / f"{name}.{end}") for end in ("json", "probe"))
        return self.run(
            name, vm_id, "pool_report", node_name=name, node_prefix=PREFIX, memory_path=memory_path, home_path="",
            probe_path=probe_path, **{"idle_seconds": 1, **arguments},
        )  # fmt: skip

    def reconcile(self, **arguments):
        return self.run(
            CONTROLLER, PORTAL_ID, "pool_reconcile", node_prefix=PREFIX,
            memory_path=str(self.directory / "portal.json"), **arguments,
        )  # fmt: skip

    def leave(self, vm_id):
        return self.run(f"{PREFIX}{vm_id}", vm_id, "pool_leave", node_name=f"{PREFIX}{vm_id}")

    def rewrite_memory(self, name, **changes):
        path = self.directory / f"{name}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    def age_marks(self, seconds=30):
        marks = json.loads((self.directory / "portal.json").read_text())["absent_at"]
        self.rewrite_memory("portal", absent_at={name: at - seconds for name, at in marks.items()})


@pytest.fixture(scope="module")
def pool(cluster, tmp_path_factory):
    onegate = OneGateDouble()
    try:
        with Relay(cluster, int(onegate.endpoint.rsplit(":", 1)[1])) as relay:
            yield Pool(cluster, onegate, relay.endpoint, tmp_path_factory.mktemp("pool"))
    finally:
        onegate.close()


def test_the_portal_gives_the_empty_pool_its_placeholder(pool, client):
    first = pool.reconcile()
    assert [(change["name"], change["kind"]) for change in first["placeholders"]] == [("ph-worker", "create")]
    assert pool.reconcile()["changed"] is False
    assert client.node("ph-worker", with_placeholders=True).is_future


def test_a_job_waits_and_runs_once_a_worker_registers(pool, cluster):
    job = cluster.submit("-c1", script="sleep 1")
    cluster.wait_for("the job to wait", lambda: cluster.job_state(job) == "PENDING")
    cluster.add_worker(OLDEST, features="worker")
    cluster.wait_for("the job to end", lambda: cluster.job_state(job) == "COMPLETED")
    cluster.add_worker(YOUNGER, features="worker")


def test_a_worker_is_healthy_while_its_daemons_answer(pool, cluster):
    """Asked as an account without rights; slurmd answers for itself, so a controller away changes nothing."""
    report = pool.report(4)
    assert report["healthy"] is True, report["why"]
    cluster.stop_controller()
    try:
        away = pool.report(4)
    finally:
        cluster.start_controller()
    assert (away["controller_up"], away["healthy"]) == (False, True), away["why"]
    cluster.stop_slurmd(YOUNGER)
    try:
        without_slurmd = pool.report(4)
    finally:
        cluster.start_slurmd(YOUNGER)
    assert without_slurmd["healthy"] is False
    assert "Not healthy: slurmd: " in without_slurmd["why"]


def test_the_oldest_drains_the_younger_does_not(pool, client):
    assert pool.report(4)["change"] is None
    time.sleep(1)  # idle_seconds of these reports, which slurmctld counts in whole seconds
    pool.cluster.wait_for("the oldest to drain", lambda: (pool.report(3)["change"] or {}).get("kind") == "drain")
    node = client.node(OLDEST)
    assert (node.state, node.reason) == ("IDLE+DRAIN+DYNAMIC_NORM", "onehpc:policies:idle")
    assert [pool.report(vm_id)["figures"]["OLDEST_IDLE"] for vm_id in (3, 4)] == [1, 1]


def test_a_waiting_job_brings_it_back(pool, cluster, client):
    fill = cluster.submit("-c2", name="fill")
    cluster.wait_for("the younger to be busy", lambda: cluster.job_state(fill) == "RUNNING")
    waiting = cluster.submit("-c2", name="waiting", script="sleep 1")
    cluster.wait_for("the job to count", lambda: pool.report(4)["figures"]["SLURM_PENDING"] == 1)
    assert pool.report(3)["change"]["kind"] == "begin-return"
    figures = [pool.report(vm_id)["figures"] for vm_id in (3, 4)]
    assert [(one["SLURM_PENDING"], one["SLURM_WANTED"], one["OLDEST_IDLE"]) for one in figures] == [(1, 1, 0)] * 2
    assert [one["ACTIVE_SESSIONS"] for one in figures] == [0, 1]
    assert [(one["SLURM_IDLE_NODES"], one["SLURM_ALLOC_NODES"]) for one in figures] == [(1, 1)] * 2
    assert re.fullmatch(r"[a-z]+:[0-9-]{10}T[0-9:]{8}Z", figures[1]["SESSION_USERS"])
    assert client.node(OLDEST).has_drain_flag
    pool.rewrite_memory(OLDEST, withdrawn_at=int(time.time()) - 151)
    assert pool.report(3)["change"]["kind"] == "return"
    cluster.wait_for("the waiting job to end", lambda: cluster.job_state(waiting) == "COMPLETED")
    assert cluster.job_state(fill) == "RUNNING"
    assert client.node(OLDEST).reason == ""


def test_a_worker_that_leaves_takes_its_node_with_it(pool, cluster, client):
    cluster.wait_for("the oldest to be empty", lambda: client.node(OLDEST).state == "IDLE+DYNAMIC_NORM")
    assert pool.leave(3)["deleted"] is True
    assert client.node(OLDEST) is None
    pool.list_workers(4)
    assert pool.reconcile()["kept"] == []


def test_a_busy_worker_that_leaves_keeps_its_node(pool, client):
    left = pool.leave(4)
    assert left["deleted"] is False
    assert "is on it" in left["why"]
    assert client.node(YOUNGER) is not None


def test_a_worker_that_vanishes_with_a_job_is_set_down_and_then_deleted(pool, cluster, client):
    (job,) = [job.job_id for job in client.jobs() if job.is_live]
    cluster.kill_host(YOUNGER)
    pool.onegate.vms.pop(4)
    pool.list_workers()
    assert "waiting for a second reading" in pool.reconcile()["kept"][0]["why"]
    pool.age_marks()
    still = pool.reconcile()
    assert still["deleted"] == still["set_down"] == []
    assert "responds and holds" in still["kept"][0]["why"]
    cluster.wait_for("slurmctld to miss it", lambda: client.node(YOUNGER).is_gone_for_slurm, timeout_seconds=120)

    def removed():
        pool.age_marks()
        result = pool.reconcile()
        assert cluster.run(CONTROLLER, "scontrol", "ping").returncode == 0
        return result["deleted"] == [YOUNGER]

    cluster.wait_for("the node to be deleted", removed)
    assert client.node(YOUNGER) is None
    assert cluster.job_state(job) == "NODE_FAIL"


def test_the_pool_accepts_jobs_while_it_is_empty(pool, cluster, client):
    assert client.nodes() == ()
    job = cluster.submit("-c2", "--mem=1000", name="too-large-for-the-placeholder-it-is-not")
    assert cluster.job_state(job) == "PENDING"
    assert pool.reconcile()["changed"] is False
