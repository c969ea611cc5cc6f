# SPDX-License-Identifier: GPL-3.0-or-later
"""When the pool counts as frozen, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import oneflow_states as states
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import FREE_TEXT_CHARACTERS, transliterate
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen import ERROR_PREFIX
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_memory import FrozenMemory, Unanswered
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import decide_portal
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import (
    PortalMemory,
    portal_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalPolicy, PortalReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from tests.unit.plugins.pool_world import NOW, PORTAL_ID, PREFIX, make_job, make_node, make_service, make_vm

POLICY = PortalPolicy(PREFIX, {})
WAITING = [make_job(7, cpus=2)]


def reading(state=states.SERVICE_RUNNING, jobs=(), now=NOW, oldest_idle="0", cardinality=None, slurm=True):
    return PortalReading(
        now=now,
        slurm=SlurmReading((make_node(3, "ALLOCATED"), make_node(4, "ALLOCATED")), tuple(jobs)) if slurm else None,
        service=make_service(state=state, cardinality=cardinality),
        own_vm_id=PORTAL_ID,
        worker_vms={vm_id: make_vm(vm_id, OLDEST_IDLE=oldest_idle) for vm_id in (3, 4)},
    )


def judge(read, memory=FrozenMemory(), policy=POLICY):  # noqa: B008
    decision = decide_portal(policy, read, PortalMemory(frozen=memory))
    assert portal_memory_from_json(decision.memory.to_json()) == decision.memory
    assert "\n" not in decision.frozen
    return decision.frozen, decision.memory.frozen


@pytest.mark.parametrize(
    ("state", "named", "remedy"),
    [
        (states.SERVICE_WARNING, "WARNING", "restart opennebula-flow"),
        (states.SERVICE_FAILED_SCALING, "FAILED_SCALING", "oneflow recover 1"),
    ],
)
def test_a_state_that_oneflow_does_not_leave_is_told_at_once(state, named, remedy):
    sentence, memory = judge(reading(state))
    assert f"Service 1 is {named}" in sentence and remedy in sentence
    assert (memory.state, memory.state_since) == (state, NOW)


@pytest.mark.parametrize("state", [states.SERVICE_RUNNING, states.SERVICE_COOLDOWN, states.SERVICE_DEPLOYING,
                                   states.SERVICE_SCALING, states.SERVICE_UNDEPLOYING])  # fmt: skip
def test_other_states_are_not(state):
    assert judge(reading(state))[0] == ""


class TestScaling:
    def scaling(self, age, state=states.SERVICE_SCALING):
        return judge(reading(states.SERVICE_SCALING), FrozenMemory(state=state, state_since=NOW - age))

    @pytest.mark.parametrize(("age", "told"), [(0, False), (900, False), (901, True), (9000, True)])
    def test_one_that_does_not_end(self, age, told):
        sentence, memory = self.scaling(age)
        assert ("SCALING for more than 900 s" in sentence) is told
        assert memory.state_since == NOW - age

    def test_the_sentence_stays_the_same(self):
        assert self.scaling(901)[0] == self.scaling(5000)[0]

    def test_another_state_in_between_starts_anew(self):
        assert self.scaling(5000, states.SERVICE_COOLDOWN) == ("", FrozenMemory(states.SERVICE_SCALING, NOW))


class TestNoReaction:
    def later(self, seconds, first=None, second=None, policy=POLICY):
        _sentence, memory = judge(first or reading(jobs=WAITING), policy=policy)
        return judge(replace(second or reading(jobs=WAITING), now=NOW + seconds), memory, policy)[0]

    @pytest.mark.parametrize(("seconds", "told"), [(599, False), (600, True)])
    def test_jobs_wait_for_ten_minutes(self, seconds, told):
        sentence = self.later(seconds)
        assert ("OneFlow does not react" in sentence) is told
        assert told is False or "pool at max_vms, or its autoscaler has stopped" in sentence

    def test_so_long_as_the_oldest_may_go(self):
        assert "does not react" in self.later(600, reading(oldest_idle="1"), reading(oldest_idle="1"))

    @pytest.mark.parametrize("second", [
        reading(jobs=WAITING, cardinality=3), reading(), reading(states.SERVICE_COOLDOWN, WAITING),
        reading(jobs=[make_job(7, reason="JobHeldUser")]),
    ])  # fmt: skip
    def test_what_ends_it(self, second):
        assert self.later(600, second=second) == ""

    def test_a_full_pool_is_not_frozen_where_the_maximum_is_known(self):
        assert self.later(600, policy=replace(POLICY, max_vms=2)) == ""
        assert self.later(600, policy=replace(POLICY, max_vms=3)) != ""
        idle = reading(oldest_idle="1")
        assert self.later(600, idle, idle, replace(POLICY, max_vms=2)) != ""

    def test_mode_direct_waits_for_no_reaction(self):
        assert self.later(600, policy=replace(POLICY, scaling="direct")) == ""

    def test_each_role_has_its_own_clock(self):
        _sentence, memory = judge(reading(jobs=WAITING), FrozenMemory(2, 0, {"worker": Unanswered(NOW - 50, 2)}))
        assert memory.unanswered == {"worker": Unanswered(NOW - 50, 2)}

    def test_nothing_is_known_while_the_controller_is_away(self):
        sentence, memory = judge(reading(slurm=False), FrozenMemory(2, 0, {"worker": Unanswered(1, 2)}))
        assert (sentence, memory.unanswered) == ("", {})


def test_a_frozen_state_is_told_without_the_controller():
    assert judge(reading(states.SERVICE_WARNING, slurm=False))[0]


def test_every_sentence_can_be_published_whole():
    silent = FrozenMemory(2, 0, {"worker": Unanswered(NOW - 600, 2)})
    scaling = FrozenMemory(states.SERVICE_SCALING, NOW - 901)
    for read, memory in [
        (reading(states.SERVICE_WARNING), FrozenMemory()), (reading(states.SERVICE_FAILED_SCALING), FrozenMemory()),
        (reading(states.SERVICE_SCALING), scaling), (reading(jobs=WAITING), silent),
    ]:  # fmt: skip
        text = ERROR_PREFIX + judge(read, memory)[0]
        assert len(text) <= FREE_TEXT_CHARACTERS - 20
        assert transliterate(text) == text.replace(",", ";")
