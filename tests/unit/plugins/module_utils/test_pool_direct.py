# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling mode direct, by example: what the portal drains, returns, terminates and asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import oneflow_states as states
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectMemory,
    DirectNode,
    DirectRights,
    DirectRole,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_terminate import termination
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import DirectView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_memory import FrozenMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    DIRECT_IDLE_REASON,
    DIRECT_RETURNING_REASON,
    IDLE_REASON,
    RETURNING_REASON,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import decide_portal
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import (
    PortalMemory,
    portal_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalPolicy, PortalReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role_need import role_needs
from tests.unit.plugins.pool_world import NOW, PORTAL_ID, PREFIX, make_job, make_node, make_service, make_vm, name_of

POLICY = PortalPolicy(PREFIX, {}, scaling="direct", idle_seconds=600, drain_seconds=600)
QUIET = DirectRole(policies_seen_at=NOW - 150)
LONG_IDLE = DirectNode(updated_at=NOW - 30, idle_since=NOW - 700, was_ready=True)
NOTHING_FORBIDDEN = DirectRights()
EMPTY = replace(LONG_IDLE, is_drained_by_us=True, empty_since=NOW - 30, drain_counted_until=NOW - 30)


def drained(vm_id, reason=DIRECT_IDLE_REASON, state="IDLE+DRAIN"):
    return make_node(vm_id, state, reason)


def reading(*nodes, workers=(3, 4, 5), jobs=(), vms=None, **service):
    """Workers 3 to 5 are listed; those that are not given are idle."""
    given = {node.name: node for node in nodes}
    shown = [given.pop(name_of(vm_id), None) or make_node(vm_id) for vm_id in workers]
    return PortalReading(
        now=NOW,
        slurm=SlurmReading((*shown, *given.values(), make_node("ph-worker", "FUTURE")), tuple(jobs)),
        service=make_service(workers, **service),
        own_vm_id=PORTAL_ID,
        worker_vms={vm_id: make_vm(vm_id, READY="YES") for vm_id in workers} if vms is None else vms,
    )


def remembered(role=QUIET, rights=NOTHING_FORBIDDEN, **nodes):
    """nodes: w3=..., every other one has been idle for long."""
    known = {name_of(vm_id): nodes.get(f"w{vm_id}", LONG_IDLE) for vm_id in range(3, 12)}
    return DirectMemory(nodes=known, roles={"worker": role, "worker_big": role}, rights=rights)


def decide(read, memory=None, policy=POLICY, frozen=None):
    whole = PortalMemory(direct=memory or remembered(), frozen=frozen or FrozenMemory())
    decision = decide_portal(policy, read, whole)
    assert portal_memory_from_json(decision.memory.to_json()) == decision.memory
    return decision.direct


def changed(decision):
    return [(change.kind, change.node_name) for change in decision.changes]


def terminated(decision):
    return [termination.vm_id for termination in decision.terminations]


def waiting(count=1, **changes):
    return [make_job(100 + number, cpus=2, **changes) for number in range(count)]


def test_mode_policies_does_nothing_of_this():
    decision = decide(reading(drained(3), jobs=waiting(5)), policy=replace(POLICY, scaling="policies"))
    assert (decision.changes, decision.terminations, decision.growth) == ((), (), None)


class TestDrain:
    def test_all_but_the_minimum_at_once_the_longest_idle_first(self):
        memory = remembered(w4=replace(LONG_IDLE, idle_since=NOW - 900))
        decision = decide(reading(), memory)
        assert changed(decision) == [("drain", name_of(4)), ("drain", name_of(3))]
        assert {change.reason for change in decision.changes} == {DIRECT_IDLE_REASON}
        assert decision.terminations == ()

    @pytest.mark.parametrize(("min_vms", "count"), [(0, 2), (1, 2), (2, 1), (3, 0), (9, 0)])
    def test_the_minimum(self, min_vms, count):
        assert len(decide(reading(), policy=replace(POLICY, min_vms=min_vms)).changes) == count

    @pytest.mark.parametrize("other", [
        drained(3, "disk"), drained(3), make_node(3, "DOWN+NOT_RESPONDING"), make_node(3, "IDLE", "look at this"),
        make_node(3, "IDLE+INVALID_REG"),
    ])  # fmt: skip
    def test_only_untouched_nodes_that_respond_count_for_it(self, other):
        memory = remembered(w4=replace(LONG_IDLE, idle_since=NOW - 900))
        assert [pair for pair in changed(decide(reading(other), memory)) if pair[0] == "drain"] == [
            ("drain", name_of(4))
        ]

    def test_busy_ones_count_for_it(self):
        busy = [make_job(1, state="RUNNING", nodes=[name_of(3)], cpus=2)]
        decision = decide(reading(make_node(3, "ALLOCATED"), jobs=busy))
        assert changed(decision) == [("drain", name_of(4)), ("drain", name_of(5))]

    @pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "NEW_STATE"])
    def test_one_with_a_live_job_never_drains_though_it_looks_idle(self, state):
        decision = decide(reading(jobs=[make_job(1, state=state, nodes=[name_of(3)])]))
        assert changed(decision) == [("drain", name_of(4)), ("drain", name_of(5))]

    @pytest.mark.parametrize("read", [
        reading(jobs=waiting()),
        reading(state=states.SERVICE_SCALING),
        reading(state=states.SERVICE_COOLDOWN),
        reading(state=states.SERVICE_WARNING),
        reading(cardinality=2),
        reading(vms={3: make_vm(3, READY="YES"), 4: make_vm(4, READY="YES")}),
    ])  # fmt: skip
    def test_what_keeps_every_worker(self, read):
        assert changed(decide(read)) == []

    @pytest.mark.parametrize("jobs", [
        waiting(reason="JobHeldUser"), waiting(reason="Dependency"), waiting(reason="BeginTime"),
        [make_job(1, cpus=99)],
    ])  # fmt: skip
    def test_jobs_that_no_worker_would_help_do_not(self, jobs):
        assert len(changed(decide(reading(jobs=jobs)))) == 2

    def test_a_node_that_a_job_asks_for_stays(self):
        jobs = [make_job(1, required=[name_of(3)], reason="ReqNodeNotAvail, UnavailableNodes:x")]
        assert changed(decide(reading(jobs=jobs))) == [("drain", name_of(4)), ("drain", name_of(5))]

    def test_idle_time_is_each_ones_own(self):
        memory = remembered(w3=replace(LONG_IDLE, idle_since=NOW - 599), w5=replace(LONG_IDLE, idle_since=NOW - 10))
        assert changed(decide(reading(), memory)) == [("drain", name_of(4))]

    def test_without_memory_slurmctld_knows(self):
        memory = remembered(w3=DirectNode(), w4=DirectNode(), w5=DirectNode())
        assert len(changed(decide(reading(), memory))) == 2
        fresh = [make_node(vm_id, last_busy=NOW - 10) for vm_id in (3, 4, 5)]
        assert changed(decide(reading(*fresh), memory)) == []

    def test_a_vm_that_opennebula_does_not_show_as_running_stays(self):
        vms = {3: make_vm(3, running=False, READY="YES"), 4: make_vm(4, READY="YES"), 5: make_vm(5, READY="YES")}
        assert changed(decide(reading(vms=vms))) == [("drain", name_of(4)), ("drain", name_of(5))]

    def test_each_role_by_itself(self):
        read = reading(workers=(3, 4), worker_big=(6, 7, 8))
        big = [make_node(vm_id, features=["worker_big"]) for vm_id in (6, 7, 8)]
        read = replace(
            read, slurm=SlurmReading((*read.slurm.nodes, *big), ()),
            worker_vms={vm_id: make_vm(vm_id, READY="YES") for vm_id in (3, 4, 6, 7, 8)},
        )  # fmt: skip
        assert [name for _kind, name in changed(decide(read))] == [name_of(3), name_of(6), name_of(7)]

    def test_a_pause_and_its_end(self):
        paused = replace(QUIET, pause_seconds=1200, pause_until=NOW + 1, pause_cardinality=3)
        assert changed(decide(reading(), remembered(paused))) == []
        assert len(changed(decide(reading(), remembered(replace(paused, pause_until=NOW))))) == 2
        assert len(changed(decide(reading(), remembered(replace(paused, pause_cardinality=4))))) == 2


class TestTerminate:
    def test_what_was_drained_and_empty_before(self):
        decision = decide(reading(drained(4)), remembered(w4=EMPTY))
        (one,) = decision.terminations
        assert (one.vm_id, one.node_name, one.is_drained) == (4, name_of(4), True)

    def test_one_at_a_time(self):
        memory = remembered(w3=EMPTY, w4=EMPTY)
        assert terminated(decide(reading(drained(3), drained(4)), memory)) == [3]

    @pytest.mark.parametrize("before", [
        LONG_IDLE,
        replace(EMPTY, empty_since=None),
        replace(EMPTY, updated_at=NOW - 241),
        replace(EMPTY, asked_at=NOW - 10),
    ])  # fmt: skip
    def test_one_reading_is_not_enough_and_it_is_asked_once(self, before):
        assert decide(reading(drained(4)), remembered(w4=before)).terminations == ()

    @pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "NEW_STATE"])
    def test_never_with_a_live_job(self, state):
        jobs = [make_job(1, state=state, nodes=[name_of(4)])]
        decision = decide(reading(drained(4), jobs=jobs), remembered(w4=EMPTY))
        assert (decision.terminations, decision.memory.nodes[name_of(4)].empty_since) == ((), None)

    @pytest.mark.parametrize("state", [
        "MIXED+DRAIN", "ALLOCATED+DRAIN", "IDLE+DRAIN+COMPLETING", "IDLE+DRAIN+NOT_RESPONDING", "DOWN+DRAIN", "IDLE",
        "IDLE+DRAIN+REBOOT_REQUESTED", "IDLE+DRAIN+MAINTENANCE",
    ])  # fmt: skip
    def test_never_in_another_state(self, state):
        assert decide(reading(drained(4, state=state)), remembered(w4=EMPTY)).terminations == ()

    @pytest.mark.parametrize("reason", ["disk", IDLE_REASON, RETURNING_REASON, DIRECT_RETURNING_REASON, "",
                                        "onehpc:direct:idle and more", "onehpc:policies:vm-gone"])  # fmt: skip
    def test_never_with_another_reason(self, reason):
        assert decide(reading(drained(4, reason)), remembered(w4=EMPTY)).terminations == ()

    @pytest.mark.parametrize("read", [
        reading(drained(4), state=states.SERVICE_SCALING),
        reading(drained(4), state=states.SERVICE_COOLDOWN),
        reading(drained(4), cardinality=2),
        reading(drained(4), jobs=waiting()),
        reading(drained(4), workers=(4,)),
        reading(drained(4), vms={3: make_vm(3), 4: make_vm(4)}),
        reading(drained(4), vms={3: make_vm(3), 4: make_vm(4, running=False), 5: make_vm(5)}),
    ])  # fmt: skip
    def test_what_keeps_it(self, read):
        assert decide(read, remembered(w4=EMPTY)).terminations == ()

    def test_not_below_the_minimum(self):
        policy = replace(POLICY, min_vms=3)
        decision = decide(reading(drained(4)), remembered(w4=EMPTY), policy)
        assert (terminated(decision), changed(decision)) == ([], [("return", name_of(4))])

    def test_the_minimum_holds_whatever_is_returned(self):
        read, memory = reading(drained(4), workers=(3, 4)), remembered(w4=EMPTY)
        for min_vms, ids in [(1, [4]), (2, [])]:
            policy = replace(POLICY, min_vms=min_vms)
            need = role_needs(policy, read, {})["worker"]
            role = DirectView(policy, read, need.view, need.pending, False, QUIET, memory.nodes, memory.rights)
            assert [found.vm_id for found in [termination(role)] if found] == ids

    def test_each_role_has_its_own_turn(self):
        read = reading(drained(4), workers=(3, 4), worker_big=(6, 7))
        big = [make_node(6, features=["worker_big"]), drained(7)]
        read = replace(
            read, slurm=SlurmReading((*read.slurm.nodes, *big), ()),
            worker_vms={vm_id: make_vm(vm_id, READY="YES") for vm_id in (3, 4, 6, 7)},
        )  # fmt: skip
        assert terminated(decide(read, remembered(w4=EMPTY, w7=EMPTY))) == [4, 7]


class TestReturn:
    def test_a_job_brings_every_drained_worker_back(self):
        decision = decide(reading(drained(3), drained(4), jobs=waiting(3)), remembered(w3=EMPTY, w4=EMPTY))
        assert changed(decision) == [("return", name_of(3)), ("return", name_of(4))]
        assert decision.terminations == ()
        assert {change.found_reason for change in decision.changes} == {DIRECT_IDLE_REASON}

    def test_not_once_its_end_was_asked_for(self):
        asked = replace(EMPTY, asked_at=NOW - 299)
        assert changed(decide(reading(drained(4), jobs=waiting()), remembered(w4=asked))) == []

    def test_unless_the_vm_still_runs_after_that(self):
        asked = replace(EMPTY, asked_at=NOW - 300)
        (change,) = decide(reading(drained(4)), remembered(w4=asked)).changes
        assert (change.kind, change.reason, change.ends_by_time) == ("begin-return", DIRECT_RETURNING_REASON, True)
        back = drained(4, DIRECT_RETURNING_REASON)
        assert changed(decide(reading(back), remembered(w4=asked))) == [("return", name_of(4))]
        vms = {3: make_vm(3), 4: make_vm(4, running=False), 5: make_vm(5)}
        assert ("return", name_of(4)) not in changed(decide(reading(back, vms=vms), remembered(w4=asked)))

    @pytest.mark.parametrize("state", [states.SERVICE_WARNING, states.SERVICE_FAILED_SCALING])
    def test_a_frozen_service_holds_no_capacity(self, state):
        decision = decide(reading(drained(3), drained(4, DIRECT_RETURNING_REASON), state=state), remembered(w3=EMPTY))
        assert changed(decision) == [("return", name_of(3)), ("return", name_of(4))]

    @pytest.mark.parametrize("age", [900, 901])
    def test_a_scaling_that_does_not_end_is_frozen(self, age):
        frozen = FrozenMemory(state=states.SERVICE_SCALING, state_since=NOW - age)
        decision = decide(reading(drained(3), state=states.SERVICE_SCALING), remembered(w3=EMPTY), frozen=frozen)
        assert changed(decision) == ([("return", name_of(3))] if age > 900 else [])

    @pytest.mark.parametrize(
        "state", ["DOWN+DRAIN", "IDLE+DRAIN+NOT_RESPONDING", "IDLE+DRAIN+FAIL", "IDLE+DRAIN+INVALID_REG"]
    )
    def test_never_a_node_in_trouble(self, state):
        assert changed(decide(reading(drained(3, state=state), jobs=waiting(9)))) == []

    @pytest.mark.parametrize("reason", ["disk", "", "onehpc:direct:idle ", "onehpc:policies:vm-gone"])
    def test_never_a_drain_that_is_not_ours(self, reason):
        assert changed(decide(reading(drained(3, reason), jobs=waiting(9)))) == []

    @pytest.mark.parametrize("read", [
        reading(drained(3), jobs=waiting(9), state=states.SERVICE_UNDEPLOYING),
        reading(drained(3), jobs=waiting(9), state=states.SERVICE_DONE),
        reading(drained(3), jobs=waiting(9), cardinality=2),
        reading(drained(3), jobs=waiting(9), vms={}),
    ])  # fmt: skip
    def test_what_keeps_it_drained(self, read):
        assert changed(decide(read)) == []

    def test_a_drain_that_cannot_come_to_its_end_ends_by_time(self):
        old = replace(EMPTY, drain_seconds=600)
        unread = {3: make_vm(3), 4: make_vm(4)}
        (change,) = decide(reading(drained(3), vms=unread), remembered(w3=old)).changes
        assert (change.kind, change.ends_by_time) == ("return", True)
        assert changed(decide(reading(drained(3), drained(4)), remembered(w3=replace(old), w4=old))) == []

    def test_when_terminates_are_forbidden_everything_stays_in_service(self):
        forbidden = DirectRights(no_terminate_at=NOW - 10)
        decision = decide(reading(drained(3)), remembered(rights=forbidden, w3=EMPTY))
        assert (changed(decision), decision.terminations) == ([("return", name_of(3))], ())
        later = DirectRights(no_terminate_at=NOW - 24 * 3600)
        assert terminated(decide(reading(drained(3)), remembered(rights=later, w3=EMPTY))) == [3]


class TestSwitchOfMode:
    @pytest.mark.parametrize("reason", [IDLE_REASON, RETURNING_REASON])
    def test_a_drain_of_the_other_mode_is_taken_over_and_everything_waits(self, reason):
        decision = decide(reading(drained(3, reason), drained(4)), remembered(w4=EMPTY))
        (change,) = decision.changes
        assert (change.kind, change.node_name, change.reason) == ("begin-return", name_of(3), DIRECT_RETURNING_REASON)
        assert change.found_reason == reason
        assert decision.terminations == ()
        assert decision.memory.roles["worker"].policies_seen_at == NOW

    @pytest.mark.parametrize(("age", "kinds"), [(149, []), (150, ["return"])])
    def test_it_returns_when_oneflow_can_no_longer_act_on_it(self, age, kinds):
        role = replace(QUIET, policies_seen_at=NOW - age)
        read = reading(drained(3, DIRECT_RETURNING_REASON), workers=(3,))
        assert [kind for kind, _name in changed(decide(read, remembered(role)))] == kinds

    def test_a_published_oldest_idle_holds_everything(self):
        vms = {3: make_vm(3), 4: make_vm(4, OLDEST_IDLE="1"), 5: make_vm(5)}
        decision = decide(reading(drained(5), vms=vms), remembered(w5=EMPTY))
        assert (decision.changes, decision.terminations) == ((), ())

    def test_a_new_memory_may_mean_a_new_mode(self):
        decision = decide(reading(), DirectMemory())
        assert (decision.changes, decision.memory.roles["worker"].policies_seen_at) == ((), NOW)


class TestGrowth:
    def grown(self, read, memory=None, **policy):
        growth = decide(read, memory, replace(POLICY, **policy)).growth
        return growth and (growth.role_name, growth.cardinality_before, growth.cardinality)

    def busy(self, count=6, **changes):
        """One worker with a job, and jobs that take a worker each."""
        jobs = [make_job(1, state="RUNNING", nodes=[name_of(3)], cpus=2), *waiting(count)]
        return reading(make_node(3, "ALLOCATED"), workers=(3,), jobs=jobs, **changes)

    def test_to_the_need_in_one_step(self):
        assert self.grown(self.busy()) == ("worker", 1, 7)

    @pytest.mark.parametrize(("max_vms", "expected"), [(7, 7), (4, 4), (2, 2)])
    def test_up_to_the_maximum(self, max_vms, expected):
        assert self.grown(self.busy(), max_vms=max_vms) == ("worker", 1, expected)

    @pytest.mark.parametrize("max_vms", [1])
    def test_never_to_what_is_there_or_fewer(self, max_vms):
        assert self.grown(self.busy(), max_vms=max_vms) is None
        three = reading(*(make_node(vm_id, "ALLOCATED") for vm_id in (3, 4, 5)), jobs=waiting(6))
        assert self.grown(three, max_vms=max_vms) is None

    @pytest.mark.parametrize(
        "state", [states.SERVICE_SCALING, states.SERVICE_COOLDOWN, states.SERVICE_WARNING, states.SERVICE_DEPLOYING]
    )
    def test_in_running_only(self, state):
        assert self.grown(self.busy(state=state)) is None

    @pytest.mark.parametrize(("state", "lcm_state"), [(3, 36), (3, 39), (3, 16), (8, 0)])
    def test_a_vm_that_will_not_boot_is_no_worker_on_its_way(self, state, lcm_state):
        """OneFlow may be RUNNING with such a VM in its list, and a job would wait for it for ever."""
        vms = {vm_id: make_vm(vm_id, READY="YES") for vm_id in (3, 4)}
        lost = replace(make_vm(5), state=state, lcm_state=lcm_state)
        read = reading(make_node(3, "ALLOCATED"), make_node(4, "ALLOCATED"), jobs=waiting(), vms={**vms, 5: lost})
        nodes = tuple(node for node in read.slurm.nodes if node.name != name_of(5))
        growth = decide(replace(read, slurm=SlurmReading(nodes, read.slurm.jobs))).growth
        assert (growth.cardinality_before, growth.cardinality) == (3, 4)

    def test_workers_that_boot_are_not_asked_for_again(self):
        assert self.grown(self.busy(cardinality=4)) == ("worker", 4, 7)

    def test_returned_workers_take_jobs_and_terminated_ones_do_not(self):
        jobs = [make_job(1, state="RUNNING", nodes=[name_of(3)], cpus=2), *waiting(3)]
        nodes = [make_node(3, "ALLOCATED"), drained(4), drained(5)]
        memory = remembered(w4=EMPTY, w5=replace(EMPTY, asked_at=NOW - 30))
        decision = decide(reading(*nodes, jobs=jobs), memory)
        assert changed(decision) == [("return", name_of(4))]
        assert (decision.growth.cardinality_before, decision.growth.cardinality) == (3, 5)

    def test_a_returned_worker_is_enough_for_a_job_that_waits_for_long(self):
        old = [replace(job, submit_time=NOW - 5000) for job in waiting()]
        jobs = [make_job(1, state="RUNNING", nodes=[name_of(3)], cpus=2), *old]
        decision = decide(reading(make_node(3, "ALLOCATED"), drained(4), workers=(3, 4), jobs=jobs))
        assert (changed(decision), decision.growth) == ([("return", name_of(4))], None)

    @pytest.mark.parametrize(("largest", "expected"), [(3, ("worker", 1, 4)), (1, ("worker", 1, 2)), (0, None)])
    def test_not_beyond_what_oneflow_has_refused(self, largest, expected):
        refused = replace(QUIET, largest_rise=largest, refused_cardinality=1)
        assert self.grown(self.busy(), remembered(refused)) == expected

    def test_a_change_of_cardinality_makes_the_refusal_void(self):
        refused = replace(QUIET, largest_rise=0, refused_cardinality=2)
        assert self.grown(self.busy(), remembered(refused)) == ("worker", 1, 7)

    def test_not_while_it_is_forbidden(self):
        assert self.grown(self.busy(), remembered(rights=DirectRights(no_growth_at=NOW - 5))) is None

    @pytest.mark.parametrize(("seconds", "expected"), [(870, None), (900, 4)])
    def test_a_worker_that_does_not_come_back_from_a_reboot_is_none_on_its_way(self, seconds, expected):
        """It was READY once, so it is not terminated either."""
        read = reading(make_node(3, "ALLOCATED"), make_node(4, "ALLOCATED"), jobs=waiting())
        nodes = tuple(node for node in read.slurm.nodes if node.name != name_of(5))
        lost = DirectNode(was_ready=True, without_node_since=NOW - seconds)
        growth = decide(replace(read, slurm=SlurmReading(nodes, read.slurm.jobs)), remembered(w5=lost)).growth
        assert (growth and growth.cardinality) == expected

    @pytest.mark.parametrize(("since", "expected"), [(None, None), (NOW - 200, None), (NOW - 240, ("worker", 0, 2))])
    def test_below_the_minimum_oneflow_comes_first(self, since, expected):
        """It acts by the cardinality that it read: what is added in between would be too many for it."""
        role = replace(QUIET, below_minimum_since=since)
        empty = reading(workers=(), jobs=waiting(2, reason="PartitionConfig"))
        assert self.grown(empty, remembered(role)) == expected

    def test_the_wait_for_oneflow_ends_at_the_minimum(self):
        role = replace(QUIET, below_minimum_since=NOW - 30)
        assert self.grown(self.busy(), remembered(role)) == ("worker", 1, 7)

    def test_one_role_at_a_time(self):
        read = self.busy(worker_big=(6,))
        read = replace(
            read, slurm=SlurmReading((*read.slurm.nodes, make_node(6, "ALLOCATED")), read.slurm.jobs),
            worker_vms={3: make_vm(3), 6: make_vm(6)},
        )  # fmt: skip
        full = {"worker": replace(QUIET, largest_rise=0, refused_cardinality=1), "worker_big": QUIET}
        assert self.grown(read) == ("worker", 1, 7)
        assert self.grown(read, replace(remembered(), roles=full))[0] == "worker_big"


class TestBootDeadline:
    LATE = DirectNode(unready_since=NOW - 900)

    def late(self, memory=LATE, vm=None, node=None, state=states.SERVICE_SCALING, jobs=()):
        vms = {3: make_vm(3, READY="YES"), 4: make_vm(4, READY="YES"), 5: vm or make_vm(5, READY="NO")}
        nodes = [make_node(3), make_node(4), *([node] if node else [])]
        read = PortalReading(NOW, SlurmReading(tuple(nodes), tuple(jobs)), make_service([3, 4, 5], state=state),
                             PORTAL_ID, vms)  # fmt: skip
        return terminated(decide(read, remembered(w5=memory)))

    @pytest.mark.parametrize("state", [states.SERVICE_SCALING, states.SERVICE_RUNNING])
    def test_a_worker_that_never_came_up_is_terminated_once(self, state):
        assert self.late(state=state) == [5]
        assert self.late(replace(self.LATE, asked_at=NOW - 30), state=state) == []
        assert self.late(replace(self.LATE, asked_at=NOW - 3000), state=state) == []

    def test_one_with_a_dead_node_too(self):
        assert self.late(node=make_node(5, "DOWN+NOT_RESPONDING")) == [5]

    @pytest.mark.parametrize("state", [states.SERVICE_WARNING, states.SERVICE_COOLDOWN, states.SERVICE_DEPLOYING])
    def test_not_in_another_state(self, state):
        assert self.late(state=state) == []

    def test_not_before_its_time(self):
        assert self.late(replace(self.LATE, unready_since=NOW - 899)) == []
        assert self.late(DirectNode()) == []

    def test_one_that_was_ready_or_works_stays(self):
        assert self.late(DirectNode(was_ready=True)) == []
        assert self.late(vm=make_vm(5, READY="YES")) == []
        assert self.late(node=make_node(5)) == []
        job = make_job(1, state="RUNNING", nodes=[name_of(5)])
        assert self.late(node=make_node(5, "IDLE+NOT_RESPONDING"), jobs=[job]) == []

    def test_one_that_is_still_on_its_way_stays(self):
        assert self.late(vm=make_vm(5, running=False, READY="NO")) == []

    def test_ready_is_remembered(self):
        nodes = decide(reading(), remembered(w3=DirectNode(unready_since=5), w4=DirectNode())).memory.nodes
        assert (nodes[name_of(3)].was_ready, nodes[name_of(3)].unready_since) == (True, None)
        unready = decide(reading(vms={3: make_vm(3, READY="NO")}), remembered(w3=DirectNode())).memory.nodes
        assert unready[name_of(3)].unready_since == NOW


def test_a_controller_that_does_not_answer_makes_an_empty_node_be_seen_anew():
    read = replace(reading(), slurm=None)
    memory = PortalMemory(direct=remembered(w4=EMPTY))
    decision = decide_portal(POLICY, read, memory)
    assert decision.direct.changes == decision.direct.terminations == ()
    kept = decision.memory.direct.nodes[name_of(4)]
    assert (kept.empty_since, kept.updated_at, kept.idle_since) == (None, NOW, NOW - 700)


def test_workers_that_left_are_forgotten():
    assert set(decide(reading()).memory.nodes) == {name_of(vm_id) for vm_id in (3, 4, 5)}
