# SPDX-License-Identifier: GPL-3.0-or-later
"""The portal's tick at its outer door."""

from __future__ import annotations

import time

import pytest

from tests.unit.plugins.onegate_double import TOKEN, vm_body
from tests.unit.plugins.pool_service import PoolService

READS = ["scontrol ping", "scontrol -o -F show node", "squeue -h -a -t all -O"]
PLACEHOLDER = "scontrol create NodeName=ph-worker CPUs=2 RealMemory=3686 State=FUTURE Feature=worker"


def job_line(number, state, node="", asks_for=""):
    return [
        str(number), str(number), "N/A", "alice", state, "main", "1", "1", "cpu=1,mem=100M,node=1,billing=1", "100M",
        "N/A", "N/A", "N/A", "(null)", asks_for, node, "(null)", "OK", "1796045644", "N/A", "N/A", "None", "job",
    ]  # fmt: skip


@pytest.fixture
def pool(onegate, connection, tmp_path):
    """VM 2 is the portal; w1 and w3 are listed workers, w2's number is the portal's, so no worker of it is missed."""
    service = PoolService(onegate, connection, tmp_path)
    service.list_workers(1, 3, own_role="portal")
    service.arguments.update(node_prefix="w", memory_path=str(service.memory), shapes="worker:cpus=2:mem=3686")
    return service


def tick(pool, check_mode=False, **changes):
    run = pool.run("pool_reconcile", check_mode, **changes)
    assert TOKEN not in run.output
    return run


def lose(pool, *vm_ids, state="DOWN"):
    """Let workers vanish: OneFlow no longer lists them, their nodes are silent."""
    pool.list_workers(*({1, 3} - set(vm_ids)), own_role="portal")
    for vm_id in vm_ids:
        pool.onegate.vms.pop(vm_id, None)
        pool.slurm.rewrite_node(f"w{vm_id}", "State=IDLE", f"State={state}")


def age_marks(pool, seconds=30):
    marks = pool.remembered()["absent_at"]
    pool.remember(absent_at={name: at - seconds for name, at in marks.items()})
    pool.forget_calls()


def test_a_fresh_pool_gets_its_placeholder_and_then_nothing_changes(pool):
    first = tick(pool)
    assert first.result["changed"] is True
    assert first.result["placeholders"] == [
        {"name": "ph-worker", "kind": "create", "cpus": 2, "memory_mib": 3686, "gpus": 0, "features": ["worker"]}
    ]
    assert first.result["diff"]["before"] == {"ph-worker": "absent"}
    assert pool.slurm.calls() == [*READS, PLACEHOLDER, "scontrol -o -F show node ph-worker"]
    assert sorted(pool.onegate.calls()) == ["GET /service", "GET /vms/1", "GET /vms/3"]
    pool.forget_calls()
    second = tick(pool)
    assert second.result["changed"] is False
    assert second.result["why"] == "RUNNING; worker: cardinality 2, responding 2, pending 0, wanted 0, drained 0"
    assert pool.slurm.calls() == READS


def test_a_vanished_worker_is_deleted_by_the_second_tick(pool):
    tick(pool)
    lose(pool, 3)
    first = tick(pool)
    assert (first.result["deleted"], first.result["changed"]) == ([], False)
    assert first.result["kept"] == [{"node": "w3", "why": "its VM is not in the service; waiting for a second reading"}]
    age_marks(pool)
    second = tick(pool)
    assert (second.result["deleted"], second.result["kept"]) == (["w3"], [])
    assert second.result["diff"] == {"before": {"w3": "DOWN+DYNAMIC_NORM"}, "after": {"w3": "absent"}}
    assert pool.slurm.calls() == [
        *READS, "scontrol -o show node w3", "scontrol delete nodename=w3", "scontrol -o -F show node w3"
    ]  # fmt: skip
    assert pool.slurm.node("w3") == ""
    assert pool.slurm.node("w1") and pool.slurm.node("ph-worker")


def test_a_node_that_responds_stays(pool):
    pool.list_workers(1, own_role="portal")
    tick(pool)
    age_marks(pool)
    run = tick(pool)
    assert run.result["deleted"] == []
    assert "still responds" in run.result["kept"][0]["why"]


def test_one_busy_and_one_failing_node_do_not_keep_the_third(pool):
    lose(pool, 1, 3)
    pool.slurm.rewrite_node("w2", "State=IDLE", "State=DOWN")
    pool.list_workers(own_role="portal")
    # As the portal's own number never names a worker, w2 is renamed for this test.
    nodes = pool.slurm.state["nodes"]
    nodes["w5"] = nodes.pop("w2").replace("w2", "w5")
    pool.slurm.change(nodes=nodes, busy=["w1"])
    tick(pool)
    age_marks(pool)
    pool.slurm.change(faults={"scontrol delete nodename=w3": [1, "", "slurm_delete error: something broke\n", 0]})
    run = tick(pool)
    assert run.failed
    assert "something broke" in run.result["msg"]
    assert sorted(pool.slurm.state["nodes"]) == ["ph-worker", "w1", "w3"]


def test_a_busy_node_is_reported_and_skipped(pool):
    tick(pool)
    lose(pool, 3)
    tick(pool)
    age_marks(pool)
    pool.slurm.change(busy=["w3"])
    run = tick(pool)
    assert (run.exit_code, run.result["deleted"], run.result["changed"]) == (0, [], False)
    assert run.result["kept"] == [{"node": "w3", "why": "slurmctld says that a job still uses it"}]


def test_a_worker_that_came_back_in_between_keeps_its_node(pool):
    tick(pool)
    lose(pool, 3)
    tick(pool)
    age_marks(pool)
    back = pool.slurm.node("w3").replace("State=DOWN", "State=IDLE")
    pool.slurm.change(faults={"scontrol -o show node w3": [0, back + "\n", "", 0]})
    run = tick(pool)
    assert run.result["kept"] == [{"node": "w3", "why": "it is IDLE+DYNAMIC_NORM by now"}]
    assert not [call for call in pool.slurm.calls() if "delete" in call]


def test_a_suspended_job_is_ended_by_setting_its_node_down_and_the_node_goes_later(pool):
    tick(pool)
    lose(pool, 3, state="IDLE+NOT_RESPONDING")
    pool.slurm.set_job_lines(job_line(7, "SUSPENDED", "w3"))
    tick(pool)
    age_marks(pool)
    down = tick(pool)
    assert (down.result["set_down"], down.result["deleted"]) == (["w3"], [])
    assert "GET /vms/3" in pool.onegate.calls()
    assert "scontrol update nodename=w3 state=down reason=onehpc:policies:vm-gone" in pool.slurm.calls()
    age_marks(pool)
    assert tick(pool).result["deleted"] == ["w3"]


@pytest.mark.parametrize("what", ["still there", "oneflow is down", "not authorized"])
def test_without_word_that_the_vm_is_gone_a_job_is_left_in_peace(pool, what):
    tick(pool)
    lose(pool, 3, state="IDLE+NOT_RESPONDING")
    pool.slurm.set_job_lines(job_line(7, "RUNNING", "w3"))
    tick(pool)
    age_marks(pool)
    answer = pool.onegate.answer
    replies = {"oneflow is down": (404, "Service 1 not found"), "not authorized": (401, "Not authorized")}
    if what == "still there":
        pool.onegate.vms[3] = vm_body(3, "worker")
    else:
        pool.onegate.answer = lambda request: replies[what] if request.path == "/vms/3" else answer(request)
    run = tick(pool)
    assert run.result["set_down"] == []
    assert "has not confirmed that the VM is gone" in run.result["kept"][0]["why"]


def test_a_vm_that_is_done_is_gone(pool):
    tick(pool)
    lose(pool, 3, state="IDLE+NOT_RESPONDING")
    pool.slurm.set_job_lines(job_line(7, "RUNNING", "w3"))
    tick(pool)
    age_marks(pool)
    pool.onegate.vms[3] = vm_body(3, "worker", state="6", lcm_state="0")
    assert tick(pool).result["set_down"] == ["w3"]


def test_a_dead_oneflow_is_a_failure_and_touches_nothing(pool):
    lose(pool, 3)
    tick(pool)
    age_marks(pool)
    answer = pool.onegate.answer
    pool.onegate.answer = lambda request: (404, "Service 1 not found") if "service" in request.path else answer(request)
    marks = pool.remembered()["absent_at"]
    run = tick(pool)
    assert run.failed
    assert "404" in run.result["msg"]
    assert pool.slurm.calls() == []
    assert pool.remembered()["absent_at"] == marks


@pytest.mark.parametrize(
    "faults",
    [
        {"squeue": [1, "", "slurm_load_jobs error: Protocol authentication error\n", 0]},
        {"squeue": [0, "", "squeue: error: Invalid job format specification: X\n", 0]},
        {"scontrol -o -F show node": [0, "", "", 0]},
    ],
)
def test_half_a_reading_of_slurm_touches_nothing(pool, faults):
    lose(pool, 3)
    tick(pool)
    age_marks(pool)
    pool.slurm.change(faults=faults)
    assert tick(pool).failed
    assert set(pool.slurm.calls()) <= set(READS)


def test_a_controller_that_is_down_is_not_a_failure(pool):
    pool.slurm.change(ping="DOWN")
    run = tick(pool)
    assert (run.exit_code, run.result["controller_up"], run.result["changed"]) == (0, False, False)
    assert pool.slurm.calls() == ["scontrol ping"]


def test_a_service_that_does_not_list_the_portal_is_a_failure(pool):
    pool.list_workers(1, 3)
    assert "does not list this VM (2)" in tick(pool).result["msg"]


def test_nothing_is_judged_while_the_service_is_deployed_but_placeholders_are_made(pool):
    lose(pool, 3)
    tick(pool)
    age_marks(pool)
    pool.list_workers(1, own_role="portal", state=1)
    run = tick(pool, shapes="worker:cpus=2:mem=3686;worker_big:cpus=8:mem=100")
    assert (run.result["deleted"], run.result["service_state"]) == ([], "DEPLOYING")
    assert pool.remembered()["absent_at"] == {}
    assert pool.slurm.node("ph-worker")


def test_a_full_node_table_is_said(pool):
    pool.slurm.change(full=True)
    run = tick(pool)
    assert run.failed
    assert "MaxNodeCount" in run.result["msg"]


def test_a_placeholder_of_another_shape_is_replaced(pool):
    tick(pool)
    pool.forget_calls()
    run = tick(pool, shapes="worker:cpus=4:mem=5000:gpus=1")
    assert run.result["placeholders"][0]["kind"] == "replace"
    assert pool.slurm.calls()[3:6] == [
        "scontrol delete nodename=ph-worker",
        "scontrol -o -F show node ph-worker",
        "scontrol create NodeName=ph-worker CPUs=4 RealMemory=5000 State=FUTURE Feature=worker Gres=gpu:1",
    ]


def test_without_given_shapes_the_largest_worker_is_remembered(pool):
    tick(pool, shapes="")
    assert pool.remembered()["largest_shapes"]["worker"]["memory_mib"] == 8000
    assert "CPUTot=5" in pool.slurm.node("ph-worker")  # w3; w1 has 2


def test_a_stale_oldest_idle_is_reset(pool):
    now = int(time.time())
    pool.onegate.user_template(1).update(OLDEST_IDLE="1", REPORT_TIME=str(now - 500), SLURM_PENDING="2")
    pool.onegate.user_template(3).update(OLDEST_IDLE="1", REPORT_TIME=str(now))
    tick(pool)
    assert pool.published(1) == {"OLDEST_IDLE": "0", "SLURM_PENDING": "2"}
    assert pool.published(3) == {"OLDEST_IDLE": "1"}
    assert pool.onegate.calls("PUT") == ["PUT /vms/1"]


def test_a_worker_that_cannot_be_read_is_said(pool):
    del pool.onegate.vms[3]
    run = tick(pool)
    assert run.exit_code == 0
    assert run.result["unread_vms"] == [3]
    assert "OneGate did not show VM 3" in run.result["why"]


def test_nodes_that_are_not_ours_are_said_once(pool):
    nodes = pool.slurm.state["nodes"]
    nodes["gpubox"] = nodes["w2"].replace("w2", "gpubox").replace("State=IDLE", "State=DOWN")
    pool.slurm.change(nodes=nodes)
    first = tick(pool)
    assert first.result["other_nodes"] == ["gpubox"]
    assert "nodes that are not this pool's are left alone: gpubox" in first.result["why"]
    second = tick(pool)
    assert second.result["other_nodes"] == ["gpubox"]
    assert "gpubox" not in second.result["why"]


def test_check_mode_tells_and_touches_nothing(pool):
    tick(pool)
    lose(pool, 3)
    tick(pool)
    age_marks(pool)
    before = pool.remembered()
    pool.onegate.user_template(1).update(OLDEST_IDLE="1", REPORT_TIME="1")
    told = tick(pool, check_mode=True, shapes="worker:cpus=1:mem=1")
    assert (told.result["deleted"], told.result["oldest_idle_reset"], told.result["changed"]) == (["w3"], [1], True)
    assert told.result["placeholders"][0]["kind"] == "replace"
    assert pool.slurm.calls() == READS
    assert pool.onegate.calls("PUT") == []
    assert pool.remembered() == before


def test_shapes_that_cannot_be_read(pool):
    run = tick(pool, shapes="worker=2")
    assert run.failed
    assert "ROLE:cpus=N:mem=MIB" in run.result["msg"]


def test_many_workers_are_read_within_the_time(pool):
    pool.list_workers(*range(10, 40), own_role="portal")
    pool.slurm.change(nodes={})
    run = tick(pool)
    assert run.result["unread_vms"] == []
    assert len([call for call in pool.onegate.calls() if call.startswith("GET /vms/")]) == 30
