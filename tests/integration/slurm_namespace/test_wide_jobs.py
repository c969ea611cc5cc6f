# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs on more nodes than a real Slurm 22.05 has: counted until there are enough. The tests build on each other."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PoolSize, count_pending
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape
from tests.integration.slurm_namespace.cluster import CONTROLLER

SHAPE = WorkerShape(cpus=2, memory_mib=1000, gpus=0, features=frozenset(["worker"]), partitions=frozenset(["main"]))
MOST = 4


@pytest.fixture
def counted(client):
    """Names of the waiting jobs that count."""

    def names():
        pool = PoolSize(len(client.nodes()), MOST)
        return {job.name.decode() for job in client.jobs() if count_pending([job], [SHAPE], pool).jobs}

    return names


@pytest.fixture
def reason_of(client):
    def reason(name):
        return next(job.reason for job in client.jobs() if job.name.decode() == name)

    return reason


def test_without_a_worker(cluster, counted, reason_of):
    future = ("nodename=ph-worker", "state=future", "cpus=2", "realmemory=1000", "feature=worker")
    cluster.run(CONTROLLER, "scontrol", "create", *future)
    for count in (2, 3, MOST + 1):
        cluster.submit(f"-N{count}", "--exclusive", name=f"on-{count}")
    cluster.wait_for("the scheduler to have looked", lambda: reason_of(f"on-{MOST + 1}") == "PartitionConfig")
    assert counted() == {"on-2", "on-3"}


def test_with_one_worker(cluster, counted, reason_of):
    cluster.add_worker("w1", cpus=2, memory_mib=1000, features="worker")
    cluster.submit("-N3", "--exclusive", name="later")
    cluster.wait_for("the scheduler to have looked again", lambda: reason_of("later") == "PartitionNodeLimit")
    assert counted() == {"on-2", "on-3", "later"}


def test_with_as_many_workers_as_they_need(cluster, client, counted):
    for name in ("w2", "w3"):
        cluster.add_worker(name, cpus=2, memory_mib=1000, features="worker")

    def running():
        return {job.name.decode() for job in client.jobs() if job.state == "RUNNING"}

    cluster.wait_for("the first to start", lambda: running() == {"on-2"})
    cluster.wait_for("the others to wait for its nodes", lambda: counted() == {"on-3", "later"})
    cluster.run(CONTROLLER, "scancel", "--name=on-2")
    cluster.wait_for("the second to start", lambda: running() == {"on-3"})
    assert counted() == {"later"}
