# SPDX-License-Identifier: GPL-3.0-or-later
"""The portal's tick at its outer door in scaling mode direct, and a frozen pool in either mode."""

from __future__ import annotations

import time

import pytest

from tests.unit.plugins.modules.test_pool_reconcile import job_line, tick
from tests.unit.plugins.pool_service import PoolService

IDLE_REASON = "onehpc:direct:idle"


@pytest.fixture
def pool(onegate, connection, tmp_path):
    """VM 2 is the portal; workers w1 and w3 are idle for long, READY, and mode direct has been in force for long."""
    pool = PoolService(onegate, connection, tmp_path)
    pool.list_workers(1, 3, own_role="portal")
    pool.arguments.update(node_prefix="w", memory_path=str(pool.memory), scaling="direct")
    for vm_id in (1, 3):
        pool.onegate.user_template(vm_id).update(READY="YES", OLDEST_IDLE="0", REPORT_TIME=str(int(time.time())))
    assert tick(pool).result["changes"] == []
    age(pool)
    return pool


def age(pool, seconds=200):
    """Let everything that is remembered have been so much earlier, and the last reading half a minute ago."""
    direct = pool.remembered()["direct"]
    for kind in ("nodes", "roles"):
        for one in direct[kind].values():
            for name, value in one.items():
                if name.endswith(("_at", "_since")) and value is not None:
                    one[name] = value - (30 if name == "updated_at" else seconds)
    pool.remember(direct=direct)
    pool.forget_calls()


def cardinality(pool, role="worker"):
    return next(r["cardinality"] for r in pool.onegate.service["SERVICE"]["roles"] if r["name"] == role)


def drained(pool):
    """One worker is drained and has been seen empty."""
    (change,) = tick(pool).result["changes"]
    tick(pool)
    age(pool, 30)
    return change["node"]


def fill(pool, waiting):
    """Both workers are busy, and so many jobs wait that take a worker whole."""
    lines = [job_line(7, "RUNNING", "w1"), job_line(8, "RUNNING", "w3")]
    for number in range(waiting):
        line = job_line(100 + number, "PENDING")
        line[6:9] = ["1", "2", "cpu=2,mem=100M,node=1,billing=2"]
        line[-2] = "Resources"
        lines.append(line)
    pool.slurm.set_job_lines(*lines)
    for name in ("w1", "w3"):
        pool.slurm.rewrite_node(name, "State=IDLE", "State=ALLOCATED")


def test_an_idle_worker_drains_and_is_terminated_when_seen_empty_twice(pool):
    first = tick(pool)
    (change,) = first.result["changes"]
    assert (change["kind"], change["reason"], first.result["terminated"]) == ("drain", IDLE_REASON, [])
    assert f"{change['node']} drained, idle for " in first.result["why"]
    assert pool.slurm.calls()[-3:] == [
        f"scontrol -o show node {change['node']}",
        f"scontrol update nodename={change['node']} state=drain reason={IDLE_REASON}",
        f"scontrol -o show node {change['node']}",
    ]
    assert tick(pool).result["terminated"] == []
    age(pool, 30)
    third = tick(pool)
    vm_id = int(change["node"][1:])
    assert third.result["terminated"] == [vm_id]
    assert f"VM {vm_id} terminated, drained and empty in two readings" in third.result["why"]
    assert third.result["diff"]["after"] == {change["node"]: "terminated"}
    assert pool.onegate.calls("POST") == [f"POST /vms/{vm_id}/action"]
    assert pool.remembered()["direct"]["nodes"][change["node"]]["asked_at"] is not None
    pool.forget_calls()
    fourth = tick(pool)
    assert (fourth.result["terminated"], fourth.result["changed"]) == ([], False)
    assert pool.onegate.calls("POST") == []


def test_check_mode_tells_the_same_and_asks_for_nothing(pool):
    name = drained(pool)
    before = pool.remembered()
    told = tick(pool, check_mode=True)
    assert told.result["terminated"] == [int(name[1:])]
    assert pool.onegate.calls("POST") == []
    assert pool.remembered() == before


def test_a_terminate_is_remembered_before_it_is_asked_for(pool):
    """Its answer is lost, so it may have been taken: the node is not returned to any job."""
    name = drained(pool)
    answer = pool.onegate.answer
    seen = []

    def lose(request):
        if request.method != "POST":
            return answer(request)
        seen.append(pool.remembered()["direct"]["nodes"][name]["asked_at"])
        return 500, "Internal server error"

    pool.onegate.answer = lose
    run = tick(pool)
    assert run.failed and "answered 500 to POST" in run.result["msg"]
    assert len(seen) == 1 and seen[0] is not None
    pool.onegate.answer = answer
    fill(pool, 3)
    pool.slurm.rewrite_node(name, "State=ALLOCATED", "State=IDLE")
    pool.slurm.set_job_lines(job_line(100, "PENDING"))
    pool.forget_calls()
    assert [one for one in tick(pool).result["changes"] if one["node"] == name] == []
    assert pool.onegate.calls("POST") == []


def test_a_node_that_was_touched_in_between_keeps_its_vm(pool):
    name = drained(pool)
    theirs = pool.slurm.node(name).replace(f"Reason={IDLE_REASON}", "Reason=disk")
    assert "Reason=disk" in theirs
    pool.slurm.change(faults={f"scontrol -o show node {name}": [0, theirs + "\n", "", 0]})
    run = tick(pool)
    assert (run.exit_code, run.result["terminated"]) == (0, [])
    assert "was not terminated: its node is IDLE+DRAIN+DYNAMIC_NORM with the reason 'disk' by now" in run.result["why"]
    assert pool.onegate.calls("POST") == []


def test_a_forbidden_terminate_is_said_once_and_the_pool_stays(pool):
    name = drained(pool)
    pool.onegate.forbidden_actions.add("terminate")
    first = tick(pool)
    assert (first.exit_code, first.result["terminated"]) == (0, [])
    assert "answered 403" in first.result["why"] and "the pool keeps its size" in first.result["why"]
    pool.forget_calls()
    second = tick(pool)
    assert [(one["kind"], one["node"]) for one in second.result["changes"]] == [("return", name)]
    assert "403" not in second.result["why"]
    assert tick(pool).result["changed"] is False
    assert pool.onegate.calls("POST") == []


def test_growth_in_one_step(pool):
    fill(pool, 5)
    run = tick(pool)
    assert run.result["cardinality"] == {"worker": 7}
    assert "worker grows from 2 to 7" in run.result["why"]
    assert run.result["roles"]["worker"] == {
        "cardinality": 2, "responding": 2, "pending": 5, "wanted": 5, "drained": 0
    }  # fmt: skip
    assert run.result["diff"]["before"] == {"worker": "cardinality 2"}
    assert pool.onegate.calls("PUT") == ["PUT /service/role/worker"]
    pool.forget_calls()
    assert tick(pool).result["cardinality"] == {}  # SCALING
    assert pool.onegate.calls("PUT") == []


def test_a_known_maximum(pool):
    fill(pool, 5)
    assert tick(pool, max_vms=4).result["cardinality"] == {"worker": 4}
    pool.onegate.service["SERVICE"]["state"] = 2
    assert tick(pool, max_vms=4).result["cardinality"] == {}


def test_without_one_a_refused_rise_is_halved_until_the_role_counts_as_full(pool):
    fill(pool, 7)
    pool.onegate.max_vms = 4
    first = tick(pool)
    assert (first.exit_code, first.result["cardinality"]) == (0, {})
    assert "answered 400 to PUT /service/role/worker" in first.result["why"]
    assert tick(pool).result["cardinality"] == {}  # 5
    assert tick(pool).result["cardinality"] == {"worker": 3}
    pool.onegate.service["SERVICE"]["state"] = 2
    pool.onegate.max_vms = 3
    assert [tick(pool).result["cardinality"] for _tick in range(4)] == [{}] * 4
    assert pool.remembered()["direct"]["roles"]["worker"]["largest_rise"] == 0
    pool.forget_calls()
    assert tick(pool).result["changed"] is False
    assert pool.onegate.calls("PUT") == []


def test_a_refusal_while_something_else_is_scaled_means_nothing(pool):
    fill(pool, 3)
    answer = pool.onegate.answer

    def busy(request):
        if request.method == "PUT":
            pool.onegate.service["SERVICE"]["state"] = 8
        return answer(request)

    pool.onegate.answer = busy
    assert tick(pool).exit_code == 0
    assert pool.remembered()["direct"]["roles"]["worker"]["largest_rise"] is None


@pytest.mark.parametrize("change", ["cardinality", "state"])
def test_the_service_is_read_once_more_before_a_growth(pool, change):
    """A larger cardinality than the one to ask for may stand by then: OneFlow would remove the oldest."""
    fill(pool, 3)
    answer, reads = pool.onegate.answer, []

    def scaled_meanwhile(request):
        if request.path == "/service":
            reads.append(request)
            if len(reads) == 2:
                service = pool.onegate.service["SERVICE"]
                service["state"] = 8 if change == "state" else 2
                for role in service["roles"]:
                    role["cardinality"] = 9 if change == "cardinality" else role["cardinality"]
        return answer(request)

    pool.onegate.answer = scaled_meanwhile
    run = tick(pool)
    assert (run.exit_code, run.result["cardinality"], pool.onegate.calls("PUT")) == (0, {}, [])
    assert "by now" in run.result["why"]


def test_a_forbidden_growth_is_said_once(pool):
    fill(pool, 3)
    answer = pool.onegate.answer
    pool.onegate.answer = lambda request: (403, "no") if request.method == "PUT" else answer(request)
    assert "answered 403" in tick(pool).result["why"]
    pool.forget_calls()
    assert tick(pool).result["changed"] is False
    assert pool.onegate.calls("PUT") == []


def test_a_foreign_drain_in_between_stays(pool):
    node = pool.slurm.node("w1").replace("State=IDLE", "State=IDLE+DRAIN") + " Reason=disk [admin@1796045000]"
    pool.slurm.change(faults={"scontrol -o show node w1": [0, node + "\n", "", 0]})
    before = pool.slurm.state["nodes"]
    run = tick(pool)
    assert (run.exit_code, run.result["changes"]) == (0, [])
    assert "Node w1 is IDLE+DRAIN+DYNAMIC_NORM with the reason 'disk' by now" in run.result["why"]
    assert pool.slurm.state["nodes"] == before


class TestFrozen:
    def frozen(self, pool, state=4):
        pool.onegate.service["SERVICE"]["state"] = state
        return tick(pool)

    def error(self, pool):
        return pool.onegate.user_template(2).get("ERROR")

    def test_it_is_published_on_change_and_erased(self, pool):
        run = self.frozen(pool)
        assert run.result["frozen"].startswith("Service 1 is WARNING")
        assert run.result["frozen"] in run.result["why"]
        assert self.error(pool).startswith("pool: Service 1 is WARNING; so OneFlow")
        assert pool.onegate.calls("PUT") == ["PUT /vm"]
        pool.forget_calls()
        assert self.frozen(pool).result["frozen"]
        assert pool.onegate.calls("PUT") == []
        self.frozen(pool, 9)
        assert "FAILED_SCALING" in self.error(pool)
        assert self.frozen(pool, 2).result["frozen"] == ""
        assert self.error(pool) == ""
        pool.forget_calls()
        tick(pool)
        assert "GET /vm" not in pool.onegate.calls()

    def test_another_ones_error_stays(self, pool):
        pool.onegate.user_template(2)["ERROR"] = "portal: Mount the homes: no route to host."
        self.frozen(pool)
        self.frozen(pool, 2)
        assert self.error(pool) == "portal: Mount the homes: no route to host."
        assert pool.onegate.calls("PUT") == []

    def test_a_drained_worker_returns(self, pool):
        name = drained(pool)
        run = self.frozen(pool)
        assert [(one["kind"], one["node"]) for one in run.result["changes"]] == [("return", name)]
        assert run.result["terminated"] == []

    def test_mode_policies_says_it_too(self, pool):
        pool.arguments.update(scaling="policies")
        assert self.frozen(pool).result["frozen"]
        assert self.error(pool)

    def test_check_mode_publishes_nothing(self, pool):
        pool.onegate.service["SERVICE"]["state"] = 4
        assert tick(pool, check_mode=True).result["frozen"]
        assert self.error(pool) is None


@pytest.mark.parametrize(("options", "sentence"), [
    ({"min_vms": 0}, "min_vms is 0, expected a whole number of at least 1."),
    ({"max_vms": -1}, "max_vms is -1"),
    ({"idle_seconds": -5}, "idle_seconds is -5"),
    ({"min_vms": 3, "max_vms": 2}, "max_vms (2) is below min_vms (3): correct ONEAPP_WORKER_MAX_VMS"),
    ({"scaling": "both"}, "value of scaling must be one of: policies, direct"),
])  # fmt: skip
def test_options_that_cannot_be_right(pool, options, sentence):
    run = tick(pool, **options)
    assert run.failed and sentence in run.result["msg"]
    assert pool.slurm.calls() == []
