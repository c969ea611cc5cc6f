# SPDX-License-Identifier: GPL-3.0-or-later
"""What a worker publishes and whether it drains or returns, by example. The guards for any situation are tested in
test_pool_worker_guards.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import oneflow_states as states
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import IncompleteReadingError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import Health
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DIRECT_IDLE_REASON,
    DIRECT_RETURNING_REASON,
    IDLE_REASON,
    RETURNING_REASON,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import DIRECT
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import (
    LONGEST_PAUSE_SECONDS,
    decide_worker,
    is_returning,
    memory_after_change,
    memory_after_publication,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    BEGIN_RETURN,
    BY_FREEZE,
    BY_JOB,
    BY_MODE,
    BY_TIME,
    DRAIN,
    RETURN,
    RETURN_GRACE_SECONDS,
    NodeChange,
    WorkerPolicy,
    WorkerReading,
)
from tests.unit.plugins.pool_world import NOW, PREFIX, make_job, make_node, make_service, make_vm, name_of

POLICY = WorkerPolicy(node_prefix=PREFIX, idle_seconds=600, drain_seconds=600, min_vms=1)
IDLE_FOR_LONG = WorkerMemory(node_name=name_of(3), updated_at=NOW - 30, idle_since=NOW - 601)
DRAINED = {"state": "IDLE+DRAIN", "reason": IDLE_REASON}
RETURNING = {"state": "IDLE+DRAIN", "reason": RETURNING_REASON}


def reading(nodes=None, jobs=(), service=None, vm=None, now=NOW):
    nodes = (make_node(3), make_node(4)) if nodes is None else nodes
    return WorkerReading(
        now=now, slurm=SlurmReading(tuple(nodes), tuple(jobs)), service=service or make_service(), vm=vm or make_vm(3)
    )


def decide(read, memory=IDLE_FOR_LONG, policy=POLICY):
    return decide_worker(policy, read, memory)


def test_an_idle_oldest_worker_drains():
    decision = decide(reading())
    assert decision.change == NodeChange(DRAIN, name_of(3), IDLE_REASON)
    assert (decision.figures.slurm_pending, decision.figures.oldest_idle) == (0, 0)
    assert decision.why == "Nothing waits: OneFlow may remove the worker."


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (reading([make_node(3, "IDLE+DRAIN", "disk", "admin"), make_node(4)]), "touched by admin (disk)"),
        (reading([make_node(3, reason="look at this"), make_node(4)]), "look at this"),
        (reading([make_node(3, "IDLE+DRAIN", IDLE_REASON + " but stay"), make_node(4)]), "but stay"),
        (reading([make_node(3, "MIXED"), make_node(4)]), "is MIXED"),
        (reading([make_node(3, "IDLE+COMPLETING"), make_node(4)]), "COMPLETING"),
        (reading([make_node(3, "IDLE+RESERVED"), make_node(4)]), "RESERVED"),
        (reading([make_node(3, "IDLE+NOT_RESPONDING"), make_node(4)]), "NOT_RESPONDING"),
        (reading(jobs=[make_job(state="SUSPENDED", nodes=[name_of(3)])]), "A job is on the node"),
        (reading(jobs=[make_job()]), "1 jobs wait"),
        (reading(jobs=[make_job(required=[name_of(3)])]), "asks for this node"),
        (reading(service=make_service([2_000, 3, 4], state=2)), "Not the oldest"),
        (reading(service=make_service(state=states.SERVICE_COOLDOWN)), "The service is COOLDOWN"),
        (reading(service=make_service(state=states.SERVICE_WARNING)), "The service is WARNING"),
        (reading(service=make_service(cardinality=1)), "OneFlow is removing"),
        (reading(vm=make_vm(3, running=False)), "does not show this VM as running"),
        (reading([make_node(3)]), "no more workers than must stay (1)"),
        (reading([make_node(3), make_node(4, "IDLE+DRAIN", "disk")]), "no more workers than must stay"),
        (reading([make_node(3), make_node(4, "MIXED", "look at this")]), "no more workers than must stay"),
        (reading([make_node(3), make_node(4, "DOWN")]), "no more workers than must stay"),
        (reading([make_node(3), make_node(4, "IDLE+NOT_RESPONDING")]), "no more workers than must stay"),
        (reading([make_node(3), make_node(4, "IDLE+DRAIN+INVALID_REG")]), "no more workers than must stay"),
    ],
)
def test_what_keeps_a_worker_from_draining(read, why):
    decision = decide(read)
    assert decision.change is None
    assert why in decision.why
    assert decision.figures.oldest_idle == 0


@pytest.mark.parametrize(
    "job",
    [
        make_job(reason="JobHeldUser"), make_job(reason="Dependency"), make_job(reason="BeginTime"),
        make_job(cpus=64), make_job(feature="big"), make_job(required=[name_of(4)]),
        make_job(state="RUNNING", nodes=[name_of(4)]),
        make_job(state="COMPLETED", nodes=[name_of(3)], end=NOW - 700),
    ],
)  # fmt: skip
def test_jobs_that_no_worker_helps_do_not_block_a_drain(job):
    assert decide(reading(jobs=[job])).change.kind == DRAIN


def test_the_minimum_of_the_site_counts():
    three = [make_node(3), make_node(4), make_node(5)]
    service = make_service([3, 4, 5])
    assert decide(reading(three, service=service), policy=replace(POLICY, min_vms=3)).change is None
    assert decide(reading(three, service=service), policy=replace(POLICY, min_vms=2)).change.kind == DRAIN


def test_a_minimum_of_zero_counts_as_one():
    assert decide(reading([make_node(3)]), policy=replace(POLICY, min_vms=0)).change is None


def test_nodes_that_the_service_does_not_list_do_not_count_for_the_minimum():
    assert decide(reading([make_node(3), make_node(9), make_node("gpu-box")])).change is None


class TestIdleTime:
    @pytest.mark.parametrize(("seconds", "drains"), [(599, False), (600, True)])
    def test_idle_seconds_are_enough(self, seconds, drains):
        memory = replace(IDLE_FOR_LONG, idle_since=NOW - seconds)
        assert (decide(reading(), memory).change is not None) is drains

    def test_a_job_seen_is_now(self):
        busy = reading(jobs=[make_job(state="RUNNING", nodes=[name_of(3)])])
        assert decide(busy).memory.idle_since == NOW

    def test_a_job_that_came_and_went_between_two_ticks(self):
        ended = make_job(state="COMPLETED", nodes=[name_of(3)], end=NOW - 10)
        decision = decide(reading(jobs=[ended]))
        assert decision.memory.idle_since == NOW - 10
        assert decision.why == "Idle for 10 s of 600 s."

    def test_memory_beats_slurm_after_a_restart_of_slurmctld(self):
        restarted = reading([make_node(3, last_busy=NOW - 5), make_node(4)])
        assert decide(restarted).memory.idle_since == NOW - 601

    def test_without_memory_slurm_tells(self):
        fresh = reading([make_node(3, last_busy=NOW - 50), make_node(4)])
        assert decide(fresh, WorkerMemory(name_of(3))).memory.idle_since == NOW - 50

    def test_without_slurms_time_the_boot_tells(self):
        fresh = reading([make_node(3, last_busy=None, boot=NOW - 70), make_node(4)])
        assert decide(fresh, WorkerMemory(name_of(3))).memory.idle_since == NOW - 70

    def test_without_anything_it_is_now(self):
        fresh = reading([make_node(3, last_busy=None, boot=None), make_node(4)])
        assert decide(fresh, WorkerMemory(name_of(3))).memory.idle_since == NOW

    def test_after_a_gap_in_memory_slurm_is_asked_too(self):
        gap = replace(IDLE_FOR_LONG, updated_at=NOW - 400)
        assert decide(reading([make_node(3, last_busy=NOW - 300), make_node(4)]), gap).memory.idle_since == NOW - 300

    def test_a_node_that_somebody_undrained_is_idle_from_then(self):
        was_drained = replace(IDLE_FOR_LONG, is_drained_by_us=True)
        decision = decide(reading(), was_drained)
        assert (decision.change, decision.memory.idle_since) == (None, NOW)
        assert decision.memory.is_drained_by_us is False

    def test_a_clock_that_went_back_shortens_the_idle_time(self):
        assert decide(reading(), replace(IDLE_FOR_LONG, idle_since=NOW + 500)).memory.idle_since == NOW


class TestOldestIdle:
    @pytest.mark.parametrize("own", [3, 4])
    def test_every_worker_of_the_role_says_it(self, own):
        read = reading([make_node(3, **DRAINED), make_node(4)], vm=make_vm(own))
        assert decide(read, WorkerMemory(name_of(own))).figures.oldest_idle == 1

    @pytest.mark.parametrize(
        "read",
        [
            reading([make_node(3, **RETURNING), make_node(4)]),
            reading([make_node(3, "IDLE+DRAIN", "onehpc:direct:idle"), make_node(4)]),
            reading([make_node(3, reason=IDLE_REASON), make_node(4)]),
            reading([make_node(3, "MIXED+DRAIN", IDLE_REASON), make_node(4)]),
            reading([make_node(3, "IDLE+DRAIN+COMPLETING", IDLE_REASON), make_node(4)]),
            reading([make_node(3, "DOWN+DRAIN", IDLE_REASON), make_node(4)]),
            reading([make_node(3), make_node(4, **DRAINED)]),
            reading([make_node(4)]),
            reading([make_node(3, **DRAINED)]),
            reading([make_node(3, **DRAINED), make_node(4)], [make_job()]),
            reading([make_node(3, **DRAINED), make_node(4)], [make_job(required=[name_of(3)])]),
            reading([make_node(3, **DRAINED), make_node(4)], [make_job(state="SUSPENDED", nodes=[name_of(3)])]),
            reading([make_node(3, **DRAINED), make_node(4)], service=make_service(state=states.SERVICE_SCALING)),
            reading([make_node(3, **DRAINED), make_node(4)], service=make_service(cardinality=1)),
        ],
    )
    @pytest.mark.parametrize("own", [3, 4])
    def test_nothing_else_does(self, read, own):
        assert decide(replace(read, vm=make_vm(own)), WorkerMemory(name_of(own))).figures.oldest_idle == 0

    @pytest.mark.parametrize("flag", ["NOT_RESPONDING", "INVALID_REG"])
    def test_a_silent_oldest_is_left_to_the_portal(self, flag):
        nodes = [make_node(3, f"IDLE+DRAIN+{flag}", IDLE_REASON), make_node(4), make_node(5)]
        read = reading(nodes, service=make_service([3, 4, 5]), vm=make_vm(4))
        assert decide(read, WorkerMemory(name_of(4))).figures.oldest_idle == 0

    def test_the_oldest_is_the_first_of_oneflows_list_and_not_the_lowest_number(self):
        read = reading([make_node(3, **DRAINED), make_node(4)], service=make_service([4, 3]))
        assert decide(read).figures.oldest_idle == 0


class TestReturn:
    drained = [make_node(3, **DRAINED), make_node(4)]
    memory = replace(IDLE_FOR_LONG, is_drained_by_us=True, drain_seconds=500, drain_counted_until=NOW - 30)

    def test_a_waiting_job_begins_it(self):
        decision = decide(reading(self.drained, [make_job()]), self.memory)
        assert decision.change == NodeChange(BEGIN_RETURN, name_of(3), RETURNING_REASON)
        assert (decision.return_cause, decision.figures.oldest_idle, decision.figures.slurm_pending) == (BY_JOB, 0, 1)

    def test_a_job_that_asks_for_the_node_begins_it(self):
        decision = decide(reading(self.drained, [make_job(required=[name_of(3)])]), self.memory)
        assert (decision.change.kind, decision.figures.slurm_pending) == (BEGIN_RETURN, 0)

    def test_time_begins_it_and_oldest_idle_is_withdrawn_at_once(self):
        decision = decide(reading(self.drained), replace(self.memory, drain_seconds=580))
        assert (decision.change.kind, decision.return_cause, decision.figures.oldest_idle) == (BEGIN_RETURN, BY_TIME, 0)

    @pytest.mark.parametrize(("seconds", "begins"), [(599, False), (600, True)])
    def test_its_time_is_drain_seconds(self, seconds, begins):
        memory = replace(self.memory, drain_seconds=seconds, drain_counted_until=None)
        assert (decide(reading(self.drained), memory).change is not None) is begins

    def test_before_its_time_it_waits(self):
        decision = decide(reading(self.drained), self.memory)
        assert (decision.change, decision.figures.oldest_idle) == (None, 1)
        assert decision.memory.drain_seconds == 530
        assert decision.why == "Drained for 530 s of 600 s, waiting for OneFlow."

    @pytest.mark.parametrize("state", [states.SERVICE_COOLDOWN, states.SERVICE_WARNING, states.SERVICE_SCALING])
    def test_the_clock_counts_only_while_running(self, state):
        decision = decide(reading(self.drained, service=make_service(state=state)), self.memory)
        assert (decision.memory.drain_seconds, decision.memory.drain_counted_until) == (500, None)
        again = decide(reading(self.drained, now=NOW + 30), decision.memory)
        assert (again.memory.drain_seconds, again.memory.drain_counted_until) == (500, NOW + 30)

    def test_a_gap_between_ticks_hardly_counts(self):
        decision = decide(reading(self.drained, now=NOW + 9000), replace(self.memory, drain_seconds=0))
        assert decision.memory.drain_seconds == 90

    @pytest.mark.parametrize(
        "state",
        [states.SERVICE_WARNING, states.SERVICE_FAILED_SCALING, states.SERVICE_COOLDOWN, states.SERVICE_SCALING],
    )
    def test_frozen_states_do_not_hold_a_node_that_a_job_waits_for(self, state):
        decision = decide(reading(self.drained, [make_job()], make_service(state=state)), self.memory)
        assert decision.change.kind == BEGIN_RETURN

    @pytest.mark.parametrize(
        "service",
        [
            make_service(state=states.SERVICE_UNDEPLOYING),
            make_service(state=states.SERVICE_DONE),
            make_service(cardinality=1, state=states.SERVICE_SCALING),
        ],
    )
    @pytest.mark.parametrize("node", [DRAINED, RETURNING])
    def test_a_worker_that_is_being_removed_stays_drained(self, service, node):
        memory = replace(self.memory, withdrawn_at=NOW - 9000)
        decision = decide(reading([make_node(3, **node), make_node(4)], [make_job()], service), memory)
        assert decision.change is None

    @pytest.mark.parametrize(
        ("state", "scaling_seconds", "returns"),
        [
            (states.SERVICE_WARNING, 0, True),
            (states.SERVICE_FAILED_SCALING, 0, True),
            (states.SERVICE_SCALING, 900, False),
            (states.SERVICE_SCALING, 901, True),
            (states.SERVICE_COOLDOWN, 901, False),
            (states.SERVICE_RUNNING, 901, False),
        ],
    )
    def test_a_frozen_service_holds_no_worker(self, state, scaling_seconds, returns):
        memory = replace(self.memory, scaling_since=NOW - scaling_seconds)
        decision = decide(reading(self.drained, service=make_service(state=state)), memory)
        assert (decision.change is not None) is returns
        assert decision.return_cause == (BY_FREEZE if returns else "")
        assert (decision.memory.scaling_since is not None) is (state == states.SERVICE_SCALING)

    @pytest.mark.parametrize("reason", [DIRECT_IDLE_REASON, DIRECT_RETURNING_REASON])
    def test_a_drain_that_the_portal_left_behind_is_ended_by_the_worker(self, reason):
        """The service was switched from direct to policies."""
        drained = [make_node(3, "IDLE+DRAIN", reason), make_node(4)]
        decision = decide(reading(drained), self.memory)
        assert decision.change == NodeChange(BEGIN_RETURN, name_of(3), RETURNING_REASON)
        assert decision.return_cause == BY_MODE
        assert f"Drained by the portal ({reason})" in decision.why
        shrinking = make_service(cardinality=1, state=states.SERVICE_SCALING)
        assert decide(reading(drained, service=shrinking), self.memory).change is None
        broken = [make_node(3, "IDLE+DRAIN+FAIL", reason), make_node(4)]
        assert decide(reading(broken), self.memory).change is None

    @pytest.mark.parametrize("flag", ["FAIL", "INVALID_REG", "NOT_RESPONDING"])
    @pytest.mark.parametrize("reason", [IDLE_REASON, RETURNING_REASON])
    def test_a_broken_node_is_not_returned(self, flag, reason):
        nodes = [make_node(3, f"IDLE+DRAIN+{flag}", reason), make_node(4)]
        assert decide(reading(nodes, [make_job()]), replace(self.memory, withdrawn_at=1)).change is None

    def test_a_node_that_is_down_is_not_returned(self):
        nodes = [make_node(3, "DOWN+DRAIN", RETURNING_REASON), make_node(4)]
        assert decide(reading(nodes, [make_job()]), replace(self.memory, withdrawn_at=1)).change is None

    def test_the_node_returns_after_the_grace(self):
        nodes = [make_node(3, **RETURNING), make_node(4)]
        early = replace(self.memory, withdrawn_at=NOW - RETURN_GRACE_SECONDS + 1)
        due = replace(self.memory, withdrawn_at=NOW - RETURN_GRACE_SECONDS)
        assert decide(reading(nodes), early).change is None
        assert decide(reading(nodes), due).change == NodeChange(RETURN, name_of(3), "")
        assert decide(reading(nodes, vm=make_vm(3, running=False)), due).change is None

    def test_without_a_withdrawal_that_was_answered_it_never_returns(self):
        nodes = [make_node(3, **RETURNING), make_node(4)]
        assert decide(reading(nodes), replace(self.memory, withdrawn_at=None)).change is None

    def test_a_new_return_waits_for_a_new_withdrawal(self):
        """An admin put the first reason back: the old answer is void."""
        decision = decide(reading(self.drained), replace(self.memory, withdrawn_at=NOW - 9000))
        assert decision.memory.withdrawn_at is None

    def test_somebody_who_takes_the_drain_over_keeps_it(self):
        nodes = [make_node(3, "IDLE+DRAIN", "disk", "admin"), make_node(4)]
        decision = decide(reading(nodes, [make_job()]), replace(self.memory, withdrawn_at=NOW - 9000))
        assert decision.change is None
        assert (decision.memory.is_drained_by_us, decision.memory.drain_seconds) == (False, 0)
        assert decision.memory.withdrawn_at is None


class TestMemoryOfChanges:
    def test_the_withdrawal_is_remembered_from_its_answer(self):
        read = reading([make_node(3, **DRAINED), make_node(4)], [make_job()])
        decision = decide(read, TestReturn.memory)
        kept = memory_after_change(decision, POLICY, read)
        assert (kept.return_cause, kept.withdrawn_at) == (BY_JOB, None)
        assert is_returning(decision, True, read) is True
        assert is_returning(decision, False, read) is False
        told = memory_after_publication(kept, True, decision.figures.oldest_idle, NOW + 1)
        assert told.withdrawn_at == NOW + 1
        assert memory_after_publication(told, True, 0, NOW + 31).withdrawn_at == NOW + 1

    def test_a_worker_that_does_not_return_remembers_no_withdrawal(self):
        assert memory_after_publication(IDLE_FOR_LONG, False, 0, NOW).withdrawn_at is None

    def returned(self, memory):
        read = reading([make_node(3, **RETURNING), make_node(4)])
        return memory_after_change(decide(read, replace(memory, withdrawn_at=NOW - 200)), POLICY, read)

    def test_a_returned_node_is_idle_from_now(self):
        kept = self.returned(replace(TestReturn.memory, return_cause=BY_JOB))
        assert (kept.idle_since, kept.return_cause, kept.withdrawn_at, kept.pause_until) == (NOW, "", None, None)

    def test_a_drain_that_ended_by_time_doubles_the_pause(self):
        first = self.returned(replace(TestReturn.memory, return_cause=BY_TIME))
        assert (first.pause_seconds, first.pause_until, first.pause_cardinality) == (1200, NOW + 1200, 2)
        second = self.returned(replace(TestReturn.memory, return_cause=BY_TIME, pause_seconds=1200))
        assert second.pause_seconds == 2400
        last = self.returned(replace(TestReturn.memory, return_cause=BY_TIME, pause_seconds=80_000))
        assert last.pause_seconds == LONGEST_PAUSE_SECONDS

    def test_no_drain_within_the_pause(self):
        paused = replace(IDLE_FOR_LONG, pause_seconds=1200, pause_until=NOW + 100, pause_cardinality=2)
        assert decide(reading(), paused).why == "An earlier drain ended by time: no new one for 100 s."
        over = decide(reading(), replace(paused, pause_until=NOW))
        assert (over.change.kind, over.memory.pause_seconds) == (DRAIN, 1200)

    def test_a_change_of_the_cardinality_ends_the_pause(self):
        paused = replace(IDLE_FOR_LONG, pause_seconds=1200, pause_until=NOW + 100, pause_cardinality=3)
        decision = decide(reading(), paused)
        assert (decision.change.kind, decision.memory.pause_seconds) == (DRAIN, 0)


class TestDirectScaling:
    policy = replace(POLICY, scaling=DIRECT)

    def test_an_idle_worker_is_left_to_the_portal(self):
        decision = decide(reading(), policy=self.policy)
        assert (decision.change, decision.why) == (None, "The portal scales this pool (direct).")

    def test_oneflows_rules_see_nothing_and_the_need_is_told_all_the_same(self):
        decision = decide(reading([make_node(3, "MIXED"), make_node(4, "MIXED")], [make_job()]), policy=self.policy)
        figures = decision.figures
        assert (figures.slurm_pending, figures.oldest_idle, figures.slurm_wanted) == (0, 0, 1)
        assert ": pending 1, wanted 1, " in decision.seen

    @pytest.mark.parametrize("reason", [IDLE_REASON, RETURNING_REASON, DIRECT_IDLE_REASON, DIRECT_RETURNING_REASON])
    def test_every_drain_of_ours_is_the_portals_to_end(self, reason):
        memory = replace(TestReturn.memory, withdrawn_at=NOW - 9000, drain_seconds=9000)
        decision = decide(
            reading([make_node(3, "IDLE+DRAIN", reason), make_node(4)], [make_job()]), memory, self.policy
        )
        assert (decision.change, decision.figures.oldest_idle) == (None, 0)
        assert decision.why == f"The portal scales this pool (direct) and ends this drain ({reason})."
        assert (decision.memory.is_drained_by_us, decision.memory.drain_seconds) == (True, 0)

    def test_a_foreign_drain_is_named(self):
        decision = decide(reading([make_node(3, "IDLE+DRAIN", "disk", "admin"), make_node(4)]), policy=self.policy)
        assert "touched by admin (disk): left alone" in decision.why


class TestPinnedRole:
    """OneFlow removes the first of its list: a limit of the contract, so it is said."""

    @pytest.mark.parametrize(
        ("oldest", "what"),
        [
            ([make_node(3, "IDLE+DRAIN", "disk\nfull", "admin")], "touched by admin (disk full)"),
            ([make_node(3, "DOWN")], "DOWN+DYNAMIC_NORM"),
            ([], "not registered with slurmctld"),
        ],
    )
    def test_the_others_say_what_holds_them(self, oldest, what):
        decision = decide(reading([*oldest, make_node(4)], vm=make_vm(4)), WorkerMemory(name_of(4)))
        assert decision.why == (
            f"Not the oldest worker of the role, which is ood-worker-3, {what}. The role does not shrink until "
            "ood-worker-3 is back in service or its VM is terminated: OneFlow removes it first."
        )

    def test_the_oldest_itself_says_it(self):
        decision = decide(reading([make_node(3, "IDLE+DRAIN", "disk", "admin"), make_node(4)]))
        assert decision.why.endswith("(disk): left alone. The role does not shrink until ood-worker-3 is back in "
                                     "service or its VM is terminated: OneFlow removes it first.")  # fmt: skip

    @pytest.mark.parametrize("oldest", [make_node(3), make_node(3, **DRAINED), make_node(3, "MIXED")])
    def test_an_oldest_in_order_is_only_named(self, oldest):
        decision = decide(reading([oldest, make_node(4)], vm=make_vm(4)), WorkerMemory(name_of(4)))
        assert decision.why == "Not the oldest worker of the role, which is ood-worker-3."


class TestFigures:
    def test_of_a_busy_worker(self):
        start = 1_800_000_000 - 3600
        jobs = [
            replace(make_job(9, state="RUNNING", nodes=[name_of(3)]), start_time=start + 60, user="bob"),
            replace(make_job(8, state="SUSPENDED", nodes=[name_of(3)]), start_time=start),
            replace(make_job(7, state="COMPLETING", nodes=[name_of(3)]), start_time=start),
            make_job(6, state="COMPLETED", nodes=[name_of(4)], end=NOW - 10),
            make_job(5, reason="Priority"),
        ]
        read = replace(reading([make_node(3, "MIXED"), make_node(4, "DOWN")], jobs), health=Health(False, "Sick."))
        assert decide(read).figures.attributes() == {
            "SLURM_PENDING": 1, "OLDEST_IDLE": 0, "SLURM_WANTED": 1, "HEALTHY": 0, "ACTIVE_SESSIONS": 2,
            "IDLE_SECONDS": 0, "SLURM_IDLE_NODES": 1, "SLURM_ALLOC_NODES": 1,
            "SESSION_USERS": "alice:2027-01-15T07:00:00Z;bob:2027-01-15T07:01:00Z",
        }  # fmt: skip

    def test_of_an_idle_one(self):
        assert decide(reading()).figures.attributes() == {
            "SLURM_PENDING": 0, "OLDEST_IDLE": 0, "SLURM_WANTED": 0, "HEALTHY": 1, "ACTIVE_SESSIONS": 0,
            "IDLE_SECONDS": 601, "SLURM_IDLE_NODES": 2, "SLURM_ALLOC_NODES": 0, "SESSION_USERS": "",
        }  # fmt: skip

    @pytest.mark.parametrize("is_healthy", [True, False])
    def test_without_controller_only_what_is_known(self, is_healthy):
        read = WorkerReading(NOW, None, make_service(), make_vm(3), Health(is_healthy))
        assert decide(read).figures.attributes() == {
            "SLURM_PENDING": 0, "OLDEST_IDLE": 0, "SLURM_WANTED": 0, "HEALTHY": int(is_healthy),
        }  # fmt: skip


class TestIncompleteReadings:
    def test_a_service_that_does_not_list_this_vm(self):
        with pytest.raises(IncompleteReadingError, match=r"does not list this VM \(9\)"):
            decide(reading(vm=make_vm(9)))

    def test_a_vm_that_names_another_role(self):
        with pytest.raises(IncompleteReadingError, match="its role is worker_big"):
            decide(reading(vm=make_vm(3, role="worker_big")))

    def test_a_controller_that_does_not_answer(self):
        decision = decide(WorkerReading(NOW, None, make_service(), make_vm(3)))
        assert (decision.figures.slurm_pending, decision.figures.oldest_idle, decision.change) == (0, 0, None)
        assert "slurmctld does not answer" in decision.seen
        assert decision.memory == replace(IDLE_FOR_LONG, updated_at=NOW)

    def test_a_controller_away_closes_no_gap_of_memory(self):
        gap = replace(IDLE_FOR_LONG, updated_at=NOW - 500)
        assert decide(WorkerReading(NOW, None, make_service(), make_vm(3)), gap).memory.updated_at == NOW - 500

    def test_a_node_that_is_not_registered(self):
        decision = decide(reading([make_node(4)], [make_job()]))
        assert (decision.change, decision.figures.slurm_pending) == (None, 1)
        assert "is not registered" in decision.why


def test_the_pending_figure_is_the_same_on_every_worker_and_uses_remembered_shapes():
    nodes = [make_node(3, cpus=2), make_node(4, cpus=4)]
    jobs = [make_job(1, cpus=4), make_job(2, cpus=8)]
    figures = {
        decide(reading(nodes, jobs, vm=make_vm(own)), WorkerMemory(name_of(own))).figures.slurm_pending
        for own in (3, 4)
    }
    assert figures == {1}
    remembered = decide(reading(nodes, jobs)).memory
    assert decide(reading([], jobs), remembered).figures.slurm_pending == 1
    assert decide(reading([], jobs), WorkerMemory(name_of(3))).figures.slurm_pending == 0


def test_roles_are_apart():
    service = make_service([3, 4], worker_big=[7, 8])
    nodes = [make_node(3), make_node(4), make_node(7, cpus=16, features=["worker_big"]),
             make_node(8, cpus=16, features=["worker_big"], state="IDLE+DRAIN", reason=IDLE_REASON)]  # fmt: skip
    jobs = [make_job(cpus=8)]
    small = decide(reading(nodes, jobs, service))
    big = decide(reading(nodes, jobs, service, make_vm(7, "worker_big")), WorkerMemory(name_of(7)))
    assert (small.figures.slurm_pending, big.figures.slurm_pending) == (0, 1)
    assert small.change.kind == DRAIN
