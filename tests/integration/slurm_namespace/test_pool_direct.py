# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling mode direct against a real Slurm 22.05 and a loopback OneGate: the portal drains, returns, terminates, grows.

The tests build on each other, in order. Hosts are the nodes ood-worker-3 (the oldest), 4 and 5.
"""

from __future__ import annotations

import json

import pytest

from tests.integration.slurm_namespace.relay import Relay
from tests.integration.slurm_namespace.test_pool import PREFIX, Pool
from tests.unit.plugins.onegate_double import OneGateDouble

OLDEST, MIDDLE, YOUNGEST = (f"{PREFIX}{number}" for number in (3, 4, 5))


class DirectPool(Pool):
    """Only the portal ticks."""

    def tick(self):
        return self.reconcile(scaling="direct", idle_seconds=1)

    def pass_time(self, seconds=200):
        """Let what the portal remembers have been so much earlier, but for the last reading."""
        direct = json.loads((self.directory / "portal.json").read_text())["direct"]
        for one in [*direct["nodes"].values(), *direct["roles"].values()]:
            for name, value in one.items():
                if name.endswith(("_at", "_since")) and name != "updated_at" and value is not None:
                    one[name] = value - seconds
        self.rewrite_memory("portal", direct=direct)


@pytest.fixture(scope="module")
def pool(cluster, tmp_path_factory):
    onegate = OneGateDouble()
    try:
        with Relay(cluster, int(onegate.endpoint.rsplit(":", 1)[1])) as relay:
            running = DirectPool(cluster, onegate, relay.endpoint, tmp_path_factory.mktemp("direct"))
            running.list_workers(3, 4, 5)
            for name in (OLDEST, MIDDLE, YOUNGEST):
                cluster.add_worker(name)
            yield running
    finally:
        onegate.close()


def changes(result):
    return sorted((change["kind"], change["node"]) for change in result["changes"])


def test_every_idle_worker_but_the_minimum_drains_beside_a_job_on_the_oldest(pool, cluster, client):
    job = cluster.submit("-c2", "-w", OLDEST, name="session")
    cluster.wait_for("the session to run", lambda: cluster.job_state(job) == "RUNNING")
    assert pool.tick()["changes"] == []
    pool.pass_time()
    assert changes(pool.tick()) == [("drain", MIDDLE), ("drain", YOUNGEST)]
    assert {client.node(name).reason for name in (MIDDLE, YOUNGEST)} == {"onehpc:direct:idle"}
    assert not client.node(OLDEST).has_drain_flag


def test_a_waiting_job_brings_them_back_and_runs(pool, cluster, client):
    job = cluster.submit("-c2", name="waiting", script="sleep 2")
    cluster.wait_for("the job to be counted", lambda: pool.tick()["roles"]["worker"]["drained"] == 0)
    cluster.wait_for("the job to end", lambda: cluster.job_state(job) == "COMPLETED")
    assert not client.node(MIDDLE).has_drain_flag and not client.node(YOUNGEST).has_drain_flag


def test_an_empty_one_is_terminated_and_a_foreign_drain_stays(pool, cluster, client):
    client.drain_node(MIDDLE, "disk")
    pool.pass_time()
    cluster.wait_for("the youngest to drain", lambda: changes(pool.tick()) == [("drain", YOUNGEST)])
    terminated = []
    cluster.wait_for("it to be terminated", lambda: terminated.extend(pool.tick()["terminated"]) or terminated)
    assert terminated == [5]
    assert pool.onegate.calls("POST") == ["POST /vms/5/action"]
    assert client.node(MIDDLE).reason == "disk"
    cluster.kill_host(YOUNGEST)
    pool.onegate.vms.pop(5)
    pool.list_workers(3, 4)


def test_the_pool_grows_to_the_need_in_one_step(pool, cluster):
    jobs = [cluster.submit("-c2", name="burst") for _number in range(3)]
    cluster.wait_for("the last to wait", lambda: cluster.job_state(jobs[-1]) == "PENDING")
    grown = {}
    cluster.wait_for("the growth", lambda: grown.update(pool.tick()["cardinality"]) or grown)
    assert grown == {"worker": 5}
