# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_rejoin against a real Slurm: a worker whose machine is made anew comes back under its name.

The tests build on each other, in order.
"""

from __future__ import annotations

import pytest

from tests.integration.slurm_namespace.cluster import CONTROLLER, CONTROLLER_ADDRESS
from tests.integration.slurm_namespace.module_on_host import run_module_on

WORKER = "ood-worker-5"


@pytest.fixture(scope="module", autouse=True)
def worker(cluster):
    """The only worker."""
    cluster.add_worker(WORKER)


def rejoin(cluster, state, wait_seconds=20):
    result = run_module_on(
        cluster,
        WORKER,
        "slurm_rejoin",
        {
            "name": WORKER,
            "controller": f"{CONTROLLER_ADDRESS}:6817",
            "state": state,
            "memory_path": str(cluster.run_dir / "rejoin.json"),
            "marker_path": "/run/onehpc/slurm_rejoin",
            "wait_seconds": wait_seconds,
        },
    )
    assert not result.get("failed"), result["msg"]
    return result


def lose_machine(cluster):
    """The machine is gone without a word to slurmctld: neither slurmd nor what lies below /run outlives it."""
    pid = cluster.run(WORKER, "cat", "/run/slurmd.pid").stdout.strip()
    cluster.run(WORKER, "sh", "-c", f"kill -KILL {pid}; pkill -KILL slurmstepd; rm -rf /run/onehpc; true")


def start_slurmd(cluster, conf="", memory_mib=900):
    """As the role starts it."""
    cluster.run(
        WORKER, "slurmd", "-Z", "--conf-server", f"{CONTROLLER_ADDRESS}:6817", "-L", f"{cluster.run_dir}/again.log",
        "--conf", f"CPUs=2 RealMemory={memory_mib} Feature=worker{conf}",
    )  # fmt: skip


def test_a_drained_node_takes_no_job_before_its_reason_is_back(cluster):
    cluster.run(CONTROLLER, "scontrol", "update", f"nodename={WORKER}", "state=drain", "reason=fan is loud, see 7")
    waiting = cluster.submit("-n", "1", name="waiting", script="true")
    lose_machine(cluster)
    cleared = rejoin(cluster, "cleared")
    assert (cleared["changed"], cleared["starts_drained"]) == (True, True)
    assert "not found" in cluster.show_node(WORKER)
    start_slurmd(cluster, " State=DRAIN")
    cluster.wait_for("the node to be registered", lambda: "State=IDLE+DRAIN" in cluster.show_node(WORKER))
    assert "Reason=" not in cluster.show_node(WORKER)
    assert rejoin(cluster, "restored")["why"] == "'fan is loud, see 7' is set again."
    shown = cluster.show_node(WORKER)
    assert "Reason=fan is loud, see 7 [" in shown
    assert "RealMemory=900 " in shown
    assert cluster.job_state(waiting) == "PENDING"
    assert rejoin(cluster, "restored")["changed"] is False
    cluster.run(CONTROLLER, "scontrol", "update", f"nodename={WORKER}", "state=undrain")
    cluster.wait_for("the job to end", lambda: cluster.job_state(waiting) == "COMPLETED")


@pytest.mark.parametrize("suspended", [False, True])
def test_a_job_of_the_lost_machine_ends(cluster, suspended):
    job = cluster.submit("-n", "1", name="doomed")
    cluster.wait_for("the job to run", lambda: cluster.job_state(job) == "RUNNING")
    if suspended:
        cluster.run(CONTROLLER, "scontrol", "suspend", str(job))
    lose_machine(cluster)
    cleared = rejoin(cluster, "cleared")
    assert f"The machine of job {job} is gone, so it ended." in cleared["why"]
    assert cleared["starts_drained"] is False
    cluster.wait_for("the job to fail", lambda: cluster.job_state(job) == "NODE_FAIL")
    print(cleared["why"])
    start_slurmd(cluster, memory_mib=800)
    cluster.wait_for("the node to be idle", lambda: "State=IDLE+DYNAMIC_NORM " in cluster.show_node(WORKER))
    assert rejoin(cluster, "restored")["changed"] is False
    after = cluster.submit("-n", "1", name="after", script="true")
    cluster.wait_for("a job to end there", lambda: cluster.job_state(after) == "COMPLETED")


def test_in_the_same_boot_nothing_is_touched(cluster):
    job = cluster.submit("-n", "1", name="kept")
    cluster.wait_for("the job to run", lambda: cluster.job_state(job) == "RUNNING")
    assert rejoin(cluster, "cleared")["changed"] is False
    assert cluster.job_state(job) == "RUNNING"
