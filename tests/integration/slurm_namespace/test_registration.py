# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_registration against a real Slurm: a node that serves, one that is not, another munge key.

The tests build on each other, in order.
"""

from __future__ import annotations

import secrets

import pytest

from tests.integration.slurm_namespace.cluster import CONTROLLER, CONTROLLER_ADDRESS
from tests.integration.slurm_namespace.module_on_host import run_module_on

WORKER = "ood-worker-5"
MUNGED = (
    "munged --key-file={key} --socket=/run/munge/munge.socket.2 --pid-file=/run/munge/munged.pid "
    "--log-file=/run/munge/munged.log --seed-file=/run/munge/seed"
)


@pytest.fixture(scope="module", autouse=True)
def worker(cluster):
    """The only worker."""
    cluster.add_worker(WORKER)


def ask(cluster, name=WORKER, wait_seconds=0):
    options = {"name": name, "controller": f"{CONTROLLER_ADDRESS}:6817", "wait_seconds": wait_seconds}
    return run_module_on(cluster, WORKER, "slurm_registration", options)


def restart_munge(cluster, key):
    stop = "kill $(cat /run/munge/munged.pid); while [ -e /run/munge/munged.pid ]; do sleep 0.1; done"
    cluster.run(WORKER, "sh", "-c", stop)
    cluster.run(WORKER, *MUNGED.format(key=key).split())


def test_node_that_serves(cluster):
    assert ask(cluster)["state"] == "IDLE+DYNAMIC_NORM"


def test_node_that_is_drained_serves(cluster):
    cluster.run(CONTROLLER, "scontrol", "update", f"nodename={WORKER}", "state=drain", "reason=theirs")
    assert ask(cluster)["state"] == "IDLE+DRAIN+DYNAMIC_NORM"


def test_node_that_is_not_registered(cluster):
    told = ask(cluster, name="ood-worker-9")
    assert "Node ood-worker-9 does not serve after 0 s: it is not registered." in told["msg"]


def test_another_munge_key_than_the_controllers(cluster):
    key = cluster.run_dir / "munge" / "another.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    restart_munge(cluster, key)
    assert "the clock or the key of one of them is wrong" in ask(cluster)["msg"]
    restart_munge(cluster, cluster.run_dir / "munge" / "munge.key")
    assert ask(cluster, wait_seconds=10)["state"] == "IDLE+DRAIN+DYNAMIC_NORM"


def test_controller_that_does_not_answer(cluster):
    cluster.stop_controller()
    assert "Unable to contact slurm controller" in ask(cluster)["msg"]
