# SPDX-License-Identifier: GPL-3.0-or-later
"""What the portal does about nodes of vanished VMs and stale figures, by example."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import oneflow_states as states
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import IncompleteReadingError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_memory import FrozenMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import GONE_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import (
    decide_portal,
    vm_ids_to_ask_for,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import (
    PortalMemory,
    portal_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_removal import DELETE, SET_DOWN, NodeRemoval
from tests.unit.plugins.pool_world import NOW, PORTAL_ID, PREFIX, make_job, make_node, make_service, make_vm, name_of
from tests.unit.plugins.slurm_samples import VERSIONS, recorded_reading

POLICY = PortalPolicy(PREFIX, {})
PLACEHOLDER = make_node("ph-worker", "FUTURE")
GONE = name_of(7)
MARKED = PortalMemory(absent_at={GONE: NOW - 30})


def reading(*nodes, jobs=(), service=None, vms=None, departed=(), slurm=True, now=NOW):
    """Workers 3 and 4 are listed and registered; the given nodes come on top."""
    everything = (make_node(3), make_node(4), PLACEHOLDER, *nodes)
    return PortalReading(
        now=now,
        slurm=SlurmReading(everything, tuple(jobs)) if slurm else None,
        service=service or make_service(),
        own_vm_id=PORTAL_ID,
        worker_vms={3: make_vm(3), 4: make_vm(4)} if vms is None else vms,
        departed_vm_ids=frozenset(departed),
    )


def decide(read, memory=MARKED, policy=POLICY):
    return decide_portal(policy, read, memory)


def only_skipped(decision):
    assert decision.removals == ()
    ((skipped),) = decision.skipped
    return skipped.node_name, skipped.why


@pytest.mark.parametrize("state", ["DOWN", "DOWN+NOT_RESPONDING", "IDLE+NOT_RESPONDING", "IDLE+DRAIN+NOT_RESPONDING"])
def test_the_node_of_a_vanished_vm_is_deleted(state):
    decision = decide(reading(make_node(7, state)))
    assert decision.removals == (NodeRemoval(DELETE, GONE),)
    assert decision.skipped == ()


def test_a_foreign_drain_on_it_makes_no_difference():
    assert decide(reading(make_node(7, "DOWN+DRAIN", "disk", "admin"))).removals == (NodeRemoval(DELETE, GONE),)


@pytest.mark.parametrize("state", ["IDLE", "IDLE+DRAIN", "MIXED", "ALLOCATED+DRAIN", "IDLE+DRAIN+INVALID_REG"])
def test_a_node_that_responds_is_alive_whatever_oneflow_says(state):
    name, why = only_skipped(decide(reading(make_node(7, state))))
    assert name == GONE
    assert "still responds" in why


def test_unless_its_address_belongs_to_another_worker():
    """Slurm 22.05 keeps the address of a record; what answers there is another machine."""
    taken = make_node(7, "IDLE", address="10.77.0.4")
    assert decide(reading(taken)).removals == (NodeRemoval(DELETE, GONE),)
    stopped = {3: make_vm(3), 4: make_vm(4, running=False)}
    assert decide(reading(taken, vms=stopped)).removals == ()
    assert decide(reading(taken, vms={3: make_vm(3)})).removals == ()


class TestTwoReadings:
    def gone(self, now=NOW):
        return reading(make_node(7, "DOWN"), now=now)

    def test_the_first_reading_only_remembers(self):
        decision = decide(self.gone(), PortalMemory())
        assert only_skipped(decision) == (GONE, "its VM is not in the service; waiting for a second reading")
        assert decision.memory.absent_at == {GONE: NOW}

    @pytest.mark.parametrize(("age", "deleted"), [(0, False), (19, False), (20, True), (120, True), (121, False)])
    def test_the_distance_counts(self, age, deleted):
        decision = decide(self.gone(), PortalMemory(absent_at={GONE: NOW - age}))
        assert bool(decision.removals) is deleted

    def test_a_young_mark_stays_an_old_one_is_void(self):
        young = decide(self.gone(), PortalMemory(absent_at={GONE: NOW - 19}))
        assert young.memory.absent_at == {GONE: NOW - 19}
        old = decide(self.gone(), PortalMemory(absent_at={GONE: NOW - 121}))
        assert old.memory.absent_at == {GONE: NOW}
        assert decide(self.gone(NOW + 30), old.memory).removals

    def test_a_mark_of_the_future_is_void(self):
        decision = decide(self.gone(), PortalMemory(absent_at={GONE: NOW + 50}))
        assert (decision.removals, decision.memory.absent_at) == ((), {GONE: NOW})

    def test_a_vm_that_is_listed_again_clears_the_mark(self):
        back = decide(reading(make_node(7, "DOWN"), service=make_service([3, 4, 7])))
        assert (back.removals, back.skipped, back.memory.absent_at) == ((), (), {})

    def test_a_node_that_stays_busy_stays_confirmed(self):
        busy = decide(reading(make_node(7, "MIXED"), jobs=[make_job(state="RUNNING", nodes=[GONE])]))
        assert busy.memory.absent_at == {GONE: NOW}

    def test_a_vm_in_any_role_counts_as_listed(self):
        service = make_service([3, 4], worker_big=[7])
        assert decide(reading(make_node(7, "DOWN"), service=service)).skipped == ()


class TestJobs:
    def test_a_waiting_job_that_asks_for_the_node_keeps_it(self):
        held = make_job(5, reason="JobHeldUser", required=[GONE])
        _name, why = only_skipped(decide(reading(make_node(7, "DOWN"), jobs=[held])))
        assert why == "job 5 asks for this node by name (-w): cancel or update it"

    @pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"])
    def test_finished_records_do_not(self, state):
        finished = make_job(5, state=state, nodes=[GONE], end=NOW - 5)
        assert decide(reading(make_node(7, "DOWN"), jobs=[finished])).removals == (NodeRemoval(DELETE, GONE),)

    @pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "NEW_STATE"])
    @pytest.mark.parametrize("node", ["IDLE+NOT_RESPONDING", "DOWN", "DOWN+NOT_RESPONDING"])
    def test_a_live_job_is_never_deleted_with_its_node(self, state, node):
        """Deleting a node that holds only a suspended job kills slurmctld 22.05."""
        read = reading(make_node(7, node), jobs=[make_job(5, state=state, nodes=[GONE])])
        assert vm_ids_to_ask_for(POLICY, read, MARKED) == (7,)
        assert "has not confirmed" in only_skipped(decide(read))[1]
        confirmed = decide(replace(read, departed_vm_ids=frozenset([7])))
        assert confirmed.removals == (NodeRemoval(SET_DOWN, GONE, GONE_REASON),)

    def test_once_set_down_it_waits_and_is_deleted_later(self):
        down = make_node(7, "DOWN", GONE_REASON)
        job = make_job(5, state="COMPLETING", nodes=[GONE])
        read = reading(down, jobs=[job], departed=[7])
        assert vm_ids_to_ask_for(POLICY, read, MARKED) == ()
        assert "was set down and still holds job 5 (COMPLETING)" in only_skipped(decide(read))[1]
        assert decide(reading(down)).removals == (NodeRemoval(DELETE, GONE),)

    def test_slurms_own_reason_is_replaced_a_persons_is_given_again(self):
        job = make_job(5, state="RUNNING", nodes=[GONE])
        own = make_node(7, "DOWN+NOT_RESPONDING", "Not responding", "slurm")
        foreign = make_node(7, "IDLE+DRAIN+NOT_RESPONDING", 'disk "sda"\n', "admin")
        (removal,) = decide(reading(own, jobs=[job], departed=[7])).removals
        assert removal.reason == GONE_REASON
        (removal,) = decide(reading(foreign, jobs=[job], departed=[7])).removals
        assert removal.reason == 'disk "sda'

    def test_a_responding_node_with_a_job_is_never_set_down(self):
        read = reading(make_node(7, "MIXED"), jobs=[make_job(5, state="RUNNING", nodes=[GONE])], departed=[7])
        assert vm_ids_to_ask_for(POLICY, read, MARKED) == ()
        assert "responds and holds job 5 (RUNNING)" in only_skipped(decide(read))[1]

    def test_nor_without_a_second_reading(self):
        read = reading(make_node(7, "DOWN"), jobs=[make_job(5, state="RUNNING", nodes=[GONE])], departed=[7])
        assert vm_ids_to_ask_for(POLICY, read, PortalMemory()) == ()
        assert decide(read, PortalMemory()).removals == ()

    def test_one_busy_node_does_not_keep_the_others(self):
        gone = [make_node(7, "DOWN"), make_node(8, "DOWN"), make_node(9, "DOWN")]
        memory = PortalMemory(absent_at={name_of(number): NOW - 30 for number in (7, 8, 9)})
        decision = decide(reading(*gone, jobs=[make_job(5, state="COMPLETING", nodes=[name_of(8)])]), memory)
        assert [removal.node_name for removal in decision.removals] == [name_of(7), name_of(9)]
        assert [skipped.node_name for skipped in decision.skipped] == [name_of(8)]


@pytest.mark.parametrize(
    "name",
    [
        "ph-worker",
        "gpu-box",
        "ood-worker-07",
        "ood-worker-",
        "ood-worker-7a",
        "xood-worker-7",
        "ood-worker-1234567890",
    ],
)
def test_only_our_names_are_ever_touched(name):
    memory = PortalMemory(absent_at={name: NOW - 30})
    read = reading(make_node(name, "DOWN"))
    if name == "ph-worker":
        read = replace(read, slurm=SlurmReading((make_node(3), make_node(name, "FUTURE")), ()))
    decision = decide(read, memory)
    assert (decision.removals, decision.skipped) == ((), ())


def test_other_nodes_are_reported_once():
    first = decide(reading(make_node("gpu-box", "DOWN")))
    assert (first.other_nodes, first.new_other_nodes) == (("gpu-box",), ("gpu-box",))
    second = decide(reading(make_node("gpu-box", "DOWN")), first.memory)
    assert (second.other_nodes, second.new_other_nodes) == (("gpu-box",), ())


@pytest.mark.parametrize(
    "state",
    [states.SERVICE_DEPLOYING, states.SERVICE_UNDEPLOYING, states.SERVICE_DEPLOYING_NETS, states.SERVICE_PENDING,
     states.SERVICE_UNDEPLOYING_NETS, states.SERVICE_DONE, states.SERVICE_HOLD],
)  # fmt: skip
def test_nothing_is_judged_while_the_service_comes_or_goes(state):
    decision = decide(reading(make_node(7, "DOWN"), service=make_service(state=state)))
    assert (decision.removals, decision.skipped, decision.memory.absent_at) == ((), (), {})
    assert "no node is judged" in decision.why


@pytest.mark.parametrize("state", [states.SERVICE_WARNING, states.SERVICE_FAILED_SCALING])
def test_nothing_is_judged_while_the_service_is_frozen(state):
    read = reading(make_node(7, "DOWN"), jobs=[make_job(5, state="RUNNING", nodes=[GONE])])
    read = replace(read, service=make_service(state=state), departed_vm_ids=frozenset([7]))
    decision = decide(read)
    assert (decision.removals, decision.skipped, decision.memory.absent_at) == ((), (), {})
    assert vm_ids_to_ask_for(POLICY, read, MARKED) == ()


@pytest.mark.parametrize("state", [states.SERVICE_SCALING, states.SERVICE_COOLDOWN])
def test_any_other_state_does_not_hinder(state):
    assert decide(reading(make_node(7, "DOWN"), service=make_service(state=state))).removals


def test_a_scaling_that_does_not_end_does():
    memory = replace(MARKED, frozen=FrozenMemory(state=states.SERVICE_SCALING, state_since=NOW - 901))
    assert decide(reading(make_node(7, "DOWN"), service=make_service(state=8)), memory).removals == ()


def test_a_controller_that_does_not_answer_leaves_marks_as_they_are():
    decision = decide(reading(slurm=False))
    assert (decision.removals, decision.placeholders) == ((), ())
    assert decision.memory.absent_at == MARKED.absent_at


def test_a_service_that_does_not_list_the_portal_is_no_reading():
    with pytest.raises(IncompleteReadingError, match="does not list this VM"):
        decide(replace(reading(make_node(7, "DOWN")), own_vm_id=99))


class TestStaleFigures:
    def stale(self, **attributes):
        vms = {3: make_vm(3, **attributes), 4: make_vm(4)}
        return decide(reading(vms=vms)).stale_vm_ids

    @pytest.mark.parametrize("age", [91, 5000])
    def test_an_old_one_is_reset(self, age):
        assert self.stale(OLDEST_IDLE="1", REPORT_TIME=str(NOW - age)) == (3,)

    def test_one_without_a_time_is_old(self):
        assert self.stale(OLDEST_IDLE="1") == self.stale(OLDEST_IDLE="1", REPORT_TIME="soon") == (3,)

    @pytest.mark.parametrize(
        "attributes",
        [
            {"OLDEST_IDLE": "1", "REPORT_TIME": str(NOW - 90)},
            {"OLDEST_IDLE": "0", "REPORT_TIME": "1"},
            {"OLDEST_IDLE": "", "REPORT_TIME": "1"},
            {"REPORT_TIME": "1"},
        ],
    )
    def test_others_are_left(self, attributes):
        assert self.stale(**attributes) == ()

    def test_it_needs_no_slurm_and_any_state_will_do(self):
        vms = {3: make_vm(3, OLDEST_IDLE="1")}
        read = reading(vms=vms, slurm=False, service=make_service(state=states.SERVICE_WARNING))
        assert decide(read).stale_vm_ids == (3,)

    def test_a_vm_that_could_not_be_read_is_left(self):
        assert decide(reading(vms={})).stale_vm_ids == ()


def test_memory_survives_its_file_and_damage():
    memory = decide(reading(make_node(7, "DOWN"), make_node("gpu-box"))).memory
    assert memory.absent_at and memory.largest_shapes and memory.other_nodes
    assert portal_memory_from_json(memory.to_json()) == memory
    damaged = {**memory.to_json(), "absent_at": {GONE: "soon", name_of(8): 5}, "largest_shapes": [1], "other_nodes": 3}
    damaged.update(direct=7, frozen={"state": "RUNNING", "state_since": NOW, "unanswered": []})
    assert portal_memory_from_json(damaged) == PortalMemory(absent_at={name_of(8): 5})
    assert portal_memory_from_json({}) == PortalMemory()


# None of whose VMs is 1, 2 or 3, the numbers of the recorded nodes.
ELSEWHERE = make_service([103], storage=[101], portal=[102])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorded_suspended_job_is_seen_though_its_node_looks_idle(version):
    """w2 holds only a suspended job, w3 only a completing one; both VMs are gone."""
    recorded = recorded_reading(version, "suspended-and-completing")
    silent = tuple(replace(node, flags=node.flags | {"NOT_RESPONDING"}) for node in recorded.nodes)
    read = PortalReading(
        NOW, SlurmReading(silent, recorded.jobs), ELSEWHERE, 102, {}, frozenset([1, 2, 3])
    )  # fmt: skip
    memory = PortalMemory(absent_at=dict.fromkeys(("w1", "w2", "w3"), NOW - 30))
    decision = decide_portal(PortalPolicy("w", {}), read, memory)
    assert {removal.node_name: removal.kind for removal in decision.removals} == {
        "w1": DELETE, "w2": SET_DOWN, "w3": SET_DOWN
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorded_jobs_that_ask_for_a_node_keep_it(version):
    """In node-deleted two waiting jobs name w3; here w3 has not been deleted yet."""
    recorded = recorded_reading(version, "node-deleted")
    w3 = make_node("w3", "DOWN")
    read = PortalReading(NOW, SlurmReading((*recorded.nodes, w3), recorded.jobs), ELSEWHERE, 102, {})
    decision = decide_portal(PortalPolicy("w", {}), read, PortalMemory(absent_at={"w3": NOW - 30}))
    assert decision.removals == ()
    assert {skipped.node_name: "by name (-w)" in skipped.why for skipped in decision.skipped} == {
        "w1": False, "w2": False, "w3": True
    }  # fmt: skip
