# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker's tick at its outer door."""

from __future__ import annotations

import json
import os
import re
import time

import pytest

from tests.unit.plugins.onegate_double import TOKEN, vm_body
from tests.unit.plugins.pool_service import OWN, PoolService
from tests.unit.plugins.slurm_samples import VERSIONS, recorded

READS = ["scontrol show slurmd", "scontrol ping", "scontrol -o show node", "squeue -h -a -t all -O"]
IDLE_REASON = "onehpc:policies:idle"
RETURNING_REASON = "onehpc:policies:returning"
WAITING = [
    "50", "50", "N/A", "alice", "PENDING", "main", "1", "1", "cpu=1,mem=100M,node=1,billing=1", "100M", "N/A", "N/A",
    "N/A", "(null)", "", "", "(null)", "OK", "1796045644", "N/A", "N/A", "Resources", "job",
]  # fmt: skip


@pytest.fixture
def pool(onegate, connection, tmp_path):
    """VM 2 is the oldest of three workers, all idle for long."""
    service = PoolService(onegate, connection, tmp_path)
    service.list_workers(2, 3, 1)
    service.arguments.update(service.report_arguments)
    return service


def tick(pool, check_mode=False, **changes):
    run = pool.run("pool_report", check_mode, **changes)
    assert TOKEN not in run.output
    return run


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorded_queue(pool, version):
    """22 fit w1, 7 more w2, 6 more w3; of the arrays, as many tasks as their throttles let start."""
    pool.slurm.replay(recorded(version, "mixed", "nodes"), recorded(version, "mixed", "squeue"))
    run = tick(pool)
    assert run.exit_code == 0
    assert run.result["figures"] == {
        "SLURM_PENDING": 35, "OLDEST_IDLE": 0, "SLURM_WANTED": 30, "HEALTHY": 1, "ACTIVE_SESSIONS": 1,
        "IDLE_SECONDS": 0, "SLURM_IDLE_NODES": 0, "SLURM_ALLOC_NODES": 3,
        "SESSION_USERS": "bob:2026-11-30T13:34:05Z",
    }  # fmt: skip
    template = pool.onegate.user_template()
    assert {name: template[name] for name in run.result["figures"]} == {
        name: str(value) for name, value in run.result["figures"].items()
    }
    assert template["SLURM_NODENAME"] == OWN
    assert pool.published() == {"SLURM_PENDING": "35", "OLDEST_IDLE": "0"}
    assert (run.result["change"], run.result["role"], run.result["service_state"]) == (None, "worker", "RUNNING")
    assert run.result["why"].endswith("; nothing changed: The node is ALLOCATED+DYNAMIC_NORM.")


def without_seconds(result):
    figures = {**result["figures"], "IDLE_SECONDS": None}
    return {**result, "why": re.sub(r"\d+ s", "some s", result["why"]), "figures": figures, "invocation": None}


def test_the_calls_of_a_quiet_tick(pool):
    pool.slurm.set_job_lines(WAITING)
    first = tick(pool)
    assert first.result["changed"] is True
    assert pool.slurm.calls() == READS
    assert pool.onegate.calls() == ["GET /vm", "GET /service", "PUT /vm", "GET /vm"]
    pool.forget_calls()
    second = tick(pool)
    assert second.result["changed"] is False
    assert pool.slurm.calls() == READS
    # Read back only when OLDEST_IDLE changes.
    assert pool.onegate.calls() == ["GET /vm", "GET /service", "PUT /vm"]
    form = pool.onegate.requests[-1].form
    assert re.fullmatch(
        "SLURM_PENDING=1\nOLDEST_IDLE=0\nSLURM_WANTED=1\nHEALTHY=1\nACTIVE_SESSIONS=0\nIDLE_SECONDS=[0-9]+\n"
        'SLURM_IDLE_NODES=3\nSLURM_ALLOC_NODES=0\nSESSION_USERS=""\nSLURM_NODENAME=w2\nREPORT_TIME=[0-9]+',
        form["data"],
    )
    assert abs(int(pool.onegate.user_template()["REPORT_TIME"]) - time.time()) < 60


def test_the_whole_way_down_and_back(pool):
    drained = tick(pool)
    assert drained.result["change"] == {"kind": "drain", "node": OWN, "reason": IDLE_REASON}
    assert drained.result["diff"]["after"]["node"] == IDLE_REASON
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    assert pool.slurm.calls() == [
        *READS,
        "scontrol -o show node w2",
        f"scontrol update nodename=w2 state=drain reason={IDLE_REASON}",
        "scontrol -o show node w2",
    ]

    waiting = tick(pool)
    assert waiting.result["change"] is None
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "1"}
    assert pool.slurm.calls() == READS

    pool.slurm.set_job_lines(WAITING)
    begun = tick(pool)
    assert begun.result["change"] == {"kind": "begin-return", "node": OWN, "reason": RETURNING_REASON}
    assert pool.published() == {"SLURM_PENDING": "1", "OLDEST_IDLE": "0"}
    withdrawn_at = pool.remembered()["withdrawn_at"]
    assert abs(withdrawn_at - time.time()) < 60

    in_grace = tick(pool)
    assert in_grace.result["change"] is None
    assert "since OLDEST_IDLE was withdrawn" in in_grace.result["why"]
    pool.remember(withdrawn_at=withdrawn_at - 151)
    pool.slurm.calls()
    returned = tick(pool)
    assert returned.result["change"] == {"kind": "return", "node": OWN, "reason": ""}
    assert "scontrol update nodename=w2 state=undrain" in pool.slurm.calls()
    assert "DRAIN" not in pool.slurm.node(OWN)
    assert pool.remembered()["withdrawn_at"] is None


def test_a_drain_that_oneflow_ignores_ends_by_time(pool):
    tick(pool)
    tick(pool)
    pool.remember(drain_seconds=600)
    assert tick(pool).result["change"]["kind"] == "begin-return"
    pool.remember(withdrawn_at=int(time.time()) - 151)
    assert tick(pool).result["change"]["kind"] == "return"
    assert pool.remembered()["pause_seconds"] == 1200
    pool.remember(idle_since=int(time.time()) - 5000)
    assert "An earlier drain ended by time" in tick(pool).result["why"]


def test_check_mode_decides_and_touches_nothing(pool):
    told = tick(pool, check_mode=True)
    assert told.result["change"]["kind"] == "drain"
    assert told.result["changed"] is True
    assert pool.slurm.calls() == READS
    assert pool.onegate.calls("PUT") == []
    assert not pool.memory.exists()
    done = tick(pool)
    assert without_seconds(told.result) == without_seconds(done.result)


@pytest.mark.parametrize("record", ["IDLE+DRAIN", "IDLE"])
def test_a_drain_that_somebody_made_in_between_is_left(pool, record):
    """The node is read once more right before the change."""
    theirs = pool.slurm.node(OWN).replace("State=IDLE", f"State={record}") + " Reason=disk [admin@1796045808]"
    pool.slurm.change(faults={"scontrol -o show node w2": [0, theirs + "\n", "", 0]})
    run = tick(pool)
    assert run.exit_code == 0
    assert run.result["change"] is None
    assert "with the reason 'disk' by now: it was left alone" in run.result["why"]
    assert not [call for call in pool.slurm.calls() if "update" in call]
    assert pool.published()["OLDEST_IDLE"] == "0"


def test_a_return_stops_when_somebody_takes_the_drain_over(pool):
    tick(pool)
    pool.slurm.rewrite_node(OWN, IDLE_REASON, RETURNING_REASON)
    tick(pool)
    pool.remember(withdrawn_at=int(time.time()) - 151)
    theirs = pool.slurm.node(OWN).replace(RETURNING_REASON, "disk")
    pool.slurm.change(faults={"scontrol -o show node w2": [0, theirs + "\n", "", 0]})
    pool.slurm.calls()
    run = tick(pool)
    assert run.result["change"] is None
    assert not [call for call in pool.slurm.calls() if "update" in call]


def test_a_controller_that_is_down_is_not_a_failure(pool):
    tick(pool)
    tick(pool)
    assert pool.published()["OLDEST_IDLE"] == "1"
    pool.slurm.change(ping="DOWN")
    pool.slurm.calls()
    run = tick(pool)
    assert run.exit_code == 0
    assert run.result["controller_up"] is False
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    assert pool.slurm.calls() == READS[:2]
    template = pool.onegate.user_template()
    assert (template["HEALTHY"], template["SLURM_WANTED"], template["SLURM_IDLE_NODES"]) == ("1", "0", "3")
    assert "slurmctld does not answer" in run.result["why"]


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"squeue": [1, "", "slurm_load_jobs error: Protocol authentication error\n", 0]}, "Protocol authentication"),
        ({"squeue": [0, "", "squeue: error: Invalid job format specification: X\n", 0]}, "Invalid job format"),
        ({"squeue": [0, "half a record", "", 0]}, "cut off"),
        ({"scontrol -o show node": [0, "", "", 0]}, "not a list of nodes"),
        ({"scontrol ping": [1, "", "scontrol: fatal: Could not establish a configuration source\n", 0]}, "establish"),
        ({"scontrol update": [1, "", "slurm_update error: Access/permission denied\n", 0]}, "permission denied"),
        ({"scontrol update": [0, "", "", 0]}, "is not drained after"),
    ],
)  # fmt: skip
def test_any_other_failure_ends_with_neutral_figures(pool, faults, said):
    pool.onegate.user_template().update(SLURM_PENDING="7", OLDEST_IDLE="1")
    pool.slurm.change(faults=faults)
    run = tick(pool)
    assert run.failed
    assert said in run.result["msg"]
    assert run.result["msg"].endswith("Neutral figures were published.")
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    template = pool.onegate.user_template()
    assert (template["HEALTHY"], template["SLURM_WANTED"]) == ("0", "0")
    assert abs(int(template["REPORT_TIME"]) - time.time()) < 60


def test_a_dead_oneflow_is_a_failure_with_neutral_figures(pool):
    """OneGate answers 404 for the service then, while GET and PUT of the own VM still work."""
    answer, missing = pool.onegate.answer, (404, "Service 1 not found")
    pool.onegate.answer = lambda request: missing if request.path == "/service" else answer(request)
    pool.onegate.user_template().update(OLDEST_IDLE="1")
    run = tick(pool)
    assert run.failed
    assert "answered 404 to GET /service" in run.result["msg"]
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    assert pool.slurm.calls() == READS[:1]


def test_a_service_without_this_vm_is_a_failure(pool):
    pool.list_workers(1, 3)
    pool.onegate.vms[2] = vm_body(2, "worker")
    run = tick(pool)
    assert run.failed
    assert "does not list this VM (2)" in run.result["msg"]
    assert not [call for call in pool.slurm.calls() if "update" in call]


def test_no_onegate_at_all(pool):
    pool.onegate.fault("closed")
    run = tick(pool, timeout_seconds=9)
    assert run.failed
    assert "Neutral figures could not be published either" in run.result["msg"]


def test_a_silent_slurm_still_ends_within_the_time(pool):
    pool.slurm.change(faults={"squeue": [0, "", "", 60]})
    started = time.monotonic()
    run = tick(pool, timeout_seconds=9)
    assert time.monotonic() - started < 15
    assert run.exit_code == 0
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}


def test_an_oldest_idle_that_does_not_arrive_is_a_failure(pool):
    pool.onegate.stored_differently["OLDEST_IDLE"] = "1"
    run = tick(pool)
    assert run.failed
    assert "took OLDEST_IDLE=0 for VM 2 but shows '1'" in run.result["msg"]


def test_a_publication_that_fails_starts_no_grace(pool):
    tick(pool)
    pool.slurm.set_job_lines(WAITING)
    answer = pool.onegate.answer
    pool.onegate.answer = lambda request: (403, "no") if request.method == "PUT" else answer(request)
    assert tick(pool).failed
    assert RETURNING_REASON in pool.slurm.node(OWN)
    assert pool.remembered()["withdrawn_at"] is None
    pool.onegate.answer = answer
    tick(pool)
    assert abs(pool.remembered()["withdrawn_at"] - time.time()) < 60


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"min_vms": 0}, "min_vms is below 1"),
        ({"idle_seconds": -1}, "idle_seconds is below 0"),
        ({"max_vms": -1}, "max_vms is below 0"),
        ({"node_name": "w3"}, "its node must be w2, but node_name is w3"),
        ({"node_prefix": "a-prefix-that-is-too-long-"}, "more than 20 characters"),
    ],
)
def test_arguments_that_make_no_sense(pool, changes, said):
    run = tick(pool, **changes)
    assert run.failed
    assert said in run.result["msg"]
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}


def test_a_damaged_memory_is_started_anew(pool):
    pool.memory.write_text("{")
    assert tick(pool).exit_code == 0
    assert json.loads(pool.memory.read_text())["node_name"] == OWN


def test_a_memory_that_cannot_be_written_is_a_failure(pool, tmp_path):
    (tmp_path / "file").write_text("")
    run = tick(pool, memory_path=str(tmp_path / "file" / "memory.json"))
    assert run.failed
    assert "where the pool remembers" in run.result["msg"]


def test_direct_scaling_publishes_nothing_that_oneflow_acts_on(pool):
    pool.slurm.set_job_lines(WAITING)
    for name in ("w1", "w2", "w3"):
        pool.slurm.rewrite_node(name, "State=IDLE", "State=MIXED")
    run = tick(pool, scaling="direct")
    assert run.result["change"] is None
    assert pool.published() == {"SLURM_PENDING": "0", "OLDEST_IDLE": "0"}
    assert pool.onegate.user_template()["SLURM_WANTED"] == "1"
    assert run.result["why"].startswith("worker 2 (oldest of 3): pending 1, wanted 1, sessions 0, idle ")


def test_another_way_of_scaling_is_refused(pool):
    run = tick(pool, scaling="both")
    assert run.failed
    assert run.result["msg"] == "value of scaling must be one of: policies, direct, got: both"


def test_a_drain_of_the_other_mode_is_taken_back(pool):
    """The change is checked against the reason that was read."""
    pool.slurm.rewrite_node(OWN, "State=IDLE", "State=IDLE+DRAIN")
    nodes = pool.slurm.state["nodes"]
    pool.slurm.change(nodes={**nodes, OWN: nodes[OWN] + " Reason=onehpc:direct:idle [root@1796045808]"})
    kept = tick(pool, scaling="direct")
    assert kept.result["change"] is None
    assert kept.result["why"].endswith("The portal scales this pool (direct) and ends this drain (onehpc:direct:idle).")
    begun = tick(pool)
    assert begun.result["change"] == {"kind": "begin-return", "node": OWN, "reason": RETURNING_REASON}
    assert pool.published()["OLDEST_IDLE"] == "0"


class TestHealth:
    def test_everything_ready(self, pool):
        run = tick(pool)
        assert run.result["healthy"] is True
        assert "Not healthy" not in run.result["why"]

    def test_what_is_not_ready_is_named(self, pool, tmp_path):
        pool.slurm.program("unmunge", "echo 'unmunge: Error: Expired credential' >&2; exit 15")
        pool.slurm.change(faults={"scontrol show slurmd": [1, "", "slurm_load_slurmd_status error\n", 0]})
        run = tick(pool, home_path="/no-home", catalogue_path=str(tmp_path / "nothing"))
        assert run.exit_code == 0
        assert run.result["healthy"] is False
        assert pool.onegate.user_template()["HEALTHY"] == "0"
        assert run.result["why"].endswith(
            "Not healthy: slurmd: slurm_load_slurmd_status error; munge: unmunge: Error: Expired credential; "
            f"/no-home: it is no mount of type nfs4; {tmp_path}/nothing: No such file or directory."
        )
        # An unhealthy worker decides all the same.
        assert run.result["change"]["kind"] == "drain"

    def test_probes_that_hang_cost_seconds(self, pool):
        pool.slurm.program("munge", "sleep 60")
        pool.slurm.change(faults={"scontrol show slurmd": [0, "", "", 60]})
        started = time.monotonic()
        run = tick(pool)
        assert time.monotonic() - started < 10
        assert run.result["healthy"] is False
        assert "slurmd: no answer within 2 s; munge: no answer within 2 s." in run.result["why"]

    def test_a_probe_that_cannot_be_started(self, pool):
        run = tick(pool, probe_path="/proc/pool_probe")
        assert run.exit_code == 0
        assert "the look at it could not start" in run.result["why"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses the account of a child")
    def test_an_account_that_does_not_exist(self, pool):
        run = tick(pool, probe_user="no-such-user")
        assert run.exit_code == 0
        assert "there is no user no-such-user" in run.result["why"]
