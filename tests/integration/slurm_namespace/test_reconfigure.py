# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that come and go need no `scontrol reconfigure`, and survive one, in a partition of `Nodes=ALL`.

slurmctld 22.05 loses nodes of a partition that is made of a node set by feature: after the deletion of a node that is
not the last one of the table, the next reconfigure drops those behind it, and only a second one brings them back. The
service's partition is `Nodes=ALL`, so neither the portal's tick nor the roles have to reconfigure twice. The partition
`by-feature` beside it shows that the trouble is really there when the other partition is looked at.
"""

from __future__ import annotations

import pytest

from tests.integration.slurm_namespace.cluster import CONTROLLER, SlurmCluster

BY_FEATURE = """\
NodeSet=workers Feature=worker
PartitionName=by-feature Nodes=workers MaxTime=12:00:00 State=UP
"""
FIRST, SECOND, THIRD, FOURTH = (f"ood-worker-{number}" for number in (3, 4, 5, 6))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Three workers; the second will be deleted."""
    with SlurmCluster(tmp_path_factory.mktemp("reconfigure"), extra_conf=BY_FEATURE) as running:
        for name in (FIRST, SECOND, THIRD):
            running.add_worker(name)
        yield running


def partitions(cluster, name):
    (field,) = [word for word in cluster.show_node(name).split() if word.startswith("Partitions=")]
    return set(field.partition("=")[2].split(","))


def reconfigure(cluster):
    cluster.run(CONTROLLER, "scontrol", "reconfigure")
    cluster.wait_for("the workers to answer", lambda: "State=IDLE" in cluster.show_node(THIRD))


def runs_on(cluster, name):
    """A job that asks for the node by name is accepted and ends there."""
    job = cluster.submit("-p", "main", "-w", name, script="true")
    cluster.wait_for(f"a job on {name} to end", lambda: cluster.job_state(job) == "COMPLETED")
    return True


def test_a_node_takes_jobs_from_its_registration_on(cluster):
    assert runs_on(cluster, THIRD)
    assert partitions(cluster, THIRD) == {"main", "by-feature"}


def test_the_deletion_of_another_one_changes_nothing(cluster):
    cluster.kill_host(SECOND)
    cluster.run(CONTROLLER, "scontrol", "delete", f"nodename={SECOND}")
    assert cluster.show_node(SECOND) == "" or "not found" in cluster.show_node(SECOND)
    assert runs_on(cluster, FIRST) and runs_on(cluster, THIRD)


def test_one_reconfigure_after_it_loses_nodes_of_a_node_set_but_none_of_all(cluster):
    reconfigure(cluster)
    assert "by-feature" not in partitions(cluster, THIRD), "22.05 lost it; a version that does not needs no such test"
    assert "main" in partitions(cluster, THIRD)
    assert runs_on(cluster, FIRST) and runs_on(cluster, THIRD)


def test_a_node_that_comes_after_that_takes_jobs_too(cluster):
    cluster.add_worker(FOURTH)
    assert runs_on(cluster, FOURTH)
    reconfigure(cluster)
    assert "main" in partitions(cluster, FOURTH)
    assert runs_on(cluster, FOURTH) and runs_on(cluster, THIRD)
