# SPDX-License-Identifier: GPL-3.0-or-later
"""How a running service grows and shrinks: what was recorded on a real OneFlow, replayed in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.opennebula.states import RoleState, ServiceState, VmState
from tests.unit.opennebula.scenario import GROW, SHRINK, Scenario, sample

RECORDED_STEPS = sample("oneflow-elasticity.json")["evaluation"]


@pytest.fixture(scope="module")
def three_workers() -> Iterator[Scenario]:
    """Workers 3, 4, 5 at the maximum; 3 has published SLURM_PENDING=1 since the start, as in the recording."""
    scenario = Scenario().running()
    scenario.publish(3, "SLURM_PENDING=1")
    for vm_id in (4, 5):
        scenario.until(lambda vm_id=vm_id: scenario.runs(vm_id))
        if vm_id == 4:
            scenario.publish(vm_id, "READY=YES")
    yield scenario


@pytest.mark.parametrize("index", range(len(RECORDED_STEPS)), ids=[step["step"] for step in RECORDED_STEPS])
def test_recorded_evaluation(three_workers: Scenario, index: int) -> None:
    """The steps build upon each other."""
    step = RECORDED_STEPS[index]
    for vm_id, line in step["published"]:
        three_workers.publish(vm_id, line)
    three_workers.until_state(ServiceState.RUNNING)
    three_workers.advance(10)
    expected = [(shown, count) for _, shown, count in step["policies"]]
    assert three_workers.policies() == expected
    assert (three_workers.service.state, three_workers.worker_state()) == (step["service_state"], step["role_state"])
    assert three_workers.worker["cardinality"] == step["cardinality"]
    assert three_workers.nodes() == step["nodes"]


def test_only_vms_of_the_role_count() -> None:
    scenario = Scenario().running()
    scenario.publish(2, "SLURM_PENDING=1")
    scenario.advance(30)
    assert scenario.policies()[0] == ("SLURM_PENDING[--] > 0", 0)
    assert scenario.nodes() == [3]


def test_growth_waits_for_ready_then_cools_down() -> None:
    scenario = Scenario().running()
    assert scenario.put("/vms/3", 2, "SLURM_PENDING=1").status == 200
    scenario.until_state(ServiceState.SCALING, 15)
    assert scenario.worker_state() == RoleState.SCALING
    assert (scenario.worker["cardinality"], scenario.nodes()) == (2, [3, 4])
    assert scenario.policies()[0] == ("SLURM_PENDING[1.0] > 0", None), "entering SCALING clears the counters"
    scenario.advance(300)
    assert scenario.service.state == ServiceState.SCALING, "no time limit"
    scenario.publish(3, "SLURM_PENDING=0")
    scenario.publish(4, "READY=YES")
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.COOLDOWN, RoleState.COOLDOWN)
    scenario.advance(19)
    assert scenario.service.state == ServiceState.COOLDOWN
    scenario.advance(2)
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.RUNNING, RoleState.RUNNING)


def test_a_vm_without_the_attribute_is_left_out() -> None:
    scenario = Scenario().grown(2)
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.until_state(ServiceState.SCALING, 15)
    assert scenario.policies()[0][0] == "SLURM_PENDING[1.0] > 0"


@pytest.mark.parametrize("cooling", [True, False], ids=["COOLDOWN", "SCALING"])
def test_nothing_is_evaluated_while_it_scales_or_cools(cooling: bool) -> None:
    scenario = Scenario(elasticity_policies=[{**GROW, "cooldown": 500}, SHRINK]).running()
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.until_state(ServiceState.SCALING, 15)
    if cooling:
        scenario.publish(4, "READY=YES")
    before = len(scenario.events("POLICY_EVALUATED"))
    scenario.advance(400)
    assert len(scenario.events("POLICY_EVALUATED")) == before


def test_the_first_of_the_list_goes_whoever_says_so() -> None:
    scenario = Scenario().grown(3)
    scenario.publish(5, "OLDEST_IDLE=1")
    scenario.until(lambda: scenario.nodes() == [4, 5], 15)
    assert scenario.events("POLICY_FIRED")[-1] == "#1 OLDEST_IDLE[1.0] > 0.99: -1"
    assert scenario.vm_state(3) == VmState.DONE
    assert (scenario.service.state, scenario.worker["cardinality"]) == (ServiceState.COOLDOWN, 2)


def test_cardinality_drops_at_the_start_and_the_node_leaves_at_the_end() -> None:
    scenario = Scenario(obeys=False).grown(2)
    for vm_id in (3, 4):
        scenario.publish(vm_id, "OLDEST_IDLE=1")
    scenario.until_state(ServiceState.SCALING, 15)
    scenario.advance(60)
    assert (scenario.worker["cardinality"], scenario.nodes()) == (1, [3, 4])
    scenario.hypervisor.power_off("vm-3")
    scenario.until(lambda: scenario.nodes() == [4], 5)
    assert scenario.service.state == ServiceState.COOLDOWN


def test_both_policies_true_at_the_maximum_flap() -> None:
    scenario = Scenario().grown(3)
    for vm_id in (3, 4, 5):
        scenario.publish(vm_id, "SLURM_PENDING=2", "OLDEST_IDLE=1")
    scenario.until(lambda: scenario.nodes() == [4, 5], 15)
    assert scenario.policies() == [("SLURM_PENDING[2.0] > 0", None), ("OLDEST_IDLE[1.0] > 0.99", None)]
    scenario.until_state(ServiceState.RUNNING, 25)
    scenario.until_state(ServiceState.SCALING, 15)
    assert scenario.nodes() == [4, 5, 6], "below the maximum the first policy wins"
    scenario.until(lambda: scenario.runs(6))
    scenario.publish(6, "READY=YES", "SLURM_PENDING=2", "OLDEST_IDLE=1")
    scenario.until(lambda: scenario.nodes() == [5, 6], 60)


def test_idle_everywhere_at_the_minimum_changes_nothing() -> None:
    scenario = Scenario().running()
    scenario.publish(3, "OLDEST_IDLE=1")
    scenario.advance(60)
    assert scenario.policies()[1] == ("OLDEST_IDLE[1.0] > 0.99", 0)
    assert (scenario.service.state, scenario.nodes()) == (ServiceState.RUNNING, [3])


def test_period_number_and_cooldowns_as_recorded() -> None:
    policies = [{**GROW, "period_number": 3, "cooldown": 3}, {**SHRINK, "cooldown": 8}]
    scenario = Scenario(gate=False, cooldown=15, elasticity_policies=policies).running()
    assert scenario.worker["cooldown"] == 15
    scenario.publish(3, "SLURM_PENDING=1")
    counts = []
    while scenario.service.state == ServiceState.RUNNING:
        scenario.advance(10)
        counts.append(scenario.policies()[0][1])
    assert counts[:2] == [1, 2]
    assert len(counts) == 3
    assert scenario.worker["cooldown"] == 3, "the firing policy's cooldown is written over the role's"
    scenario.until_state(ServiceState.RUNNING, 10)
    assert scenario.nodes() == [3, 4]
    scenario.publish(3, "SLURM_PENDING=0")
    scenario.advance(10)
    assert scenario.policies()[0] == ("SLURM_PENDING[0.0] > 0", 0), "a false reading resets the counter"
    scenario.publish(3, "OLDEST_IDLE=1")
    scenario.until_state(ServiceState.COOLDOWN, 15)
    assert (scenario.worker["cooldown"], scenario.nodes()) == (8, [4])
    started = scenario.clock.now()
    scenario.until_state(ServiceState.RUNNING, 20)
    assert scenario.clock.now() - started == pytest.approx(8)


def test_a_manual_scaling_uses_the_overwritten_cooldown() -> None:
    scenario = Scenario(cooldown=15, elasticity_policies=[{**GROW, "cooldown": 3}, SHRINK]).running()
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.until_state(ServiceState.SCALING, 15)
    scenario.publish(3, "SLURM_PENDING=0")
    scenario.publish(4, "READY=YES")
    scenario.until_state(ServiceState.RUNNING, 5)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 3)
    scenario.publish(5, "READY=YES")
    assert scenario.events("COOLDOWN") == ["for 3 s", "for 3 s"]


def test_reading_distance_is_the_period_rounded_up_to_rounds() -> None:
    scenario = Scenario(elasticity_policies=[{**GROW, "period": 25, "period_number": 9}, SHRINK]).running()
    scenario.advance(200)
    rounds = [
        event["time"]
        for event in scenario.cloud.events.since()
        if event["kind"] == "POLICY_EVALUATED" and event["text"].startswith("#0")
    ]
    distances = {later - earlier for earlier, later in zip(rounds, rounds[1:], strict=False)}
    assert distances == {30.0}


def test_terminated_outside_leaves_and_lowers_without_scaling_or_cooldown() -> None:
    scenario = Scenario().grown(3)
    states = len(scenario.events("SERVICE_STATE"))
    scenario.terminate(4)
    scenario.until(lambda: scenario.nodes() == [3, 5], 2)
    assert scenario.worker["cardinality"] == 2
    assert len(scenario.events("SERVICE_STATE")) == states
    assert scenario.service.body["log"][-1]["message"] == "Role worker scaling down from 3 to 2 nodes"


def test_all_workers_gone_brings_one_and_takes_the_cooldown_for_good() -> None:
    scenario = Scenario(elasticity_policies=[{key: GROW[key] for key in GROW if key != "cooldown"}, SHRINK]).grown(2)
    for vm_id in (3, 4):
        scenario.terminate(vm_id)
    scenario.until(lambda: scenario.nodes() == [], 2)
    assert (scenario.worker["cardinality"], scenario.service.state) == (0, ServiceState.RUNNING)
    assert scenario.worker["cooldown"] == 20
    scenario.until_state(ServiceState.SCALING, 15)
    assert (scenario.worker["cardinality"], scenario.nodes(), scenario.worker["cooldown"]) == (1, [5], 0)
    assert scenario.policies() == [("SLURM_PENDING[--] > 0", None), ("OLDEST_IDLE[--] > 0.99", None)]
    assert scenario.events("MINIMUM_FIRED") == ["below min_vms: +1"]
    scenario.publish(5, "READY=YES")
    scenario.until_state(ServiceState.RUNNING, 1)
    scenario.publish(5, "SLURM_PENDING=1")
    scenario.until_state(ServiceState.SCALING, 15)
    scenario.publish(6, "READY=YES")
    scenario.until_state(ServiceState.RUNNING, 1)
    assert scenario.events("COOLDOWN") == ["for 20 s", "for 0 s", "for 0 s"]


def test_every_role_has_the_minimum_rule() -> None:
    scenario = Scenario().running()
    scenario.terminate(2)
    scenario.until(lambda: scenario.nodes("portal") != [], 15)
    scenario.until(lambda: scenario.nodes("portal") == [4], 15)
    assert scenario.cloud.vms.get(4).template["CONTEXT"]["ONEAPP_ROLE"] == "portal"


def test_a_worker_that_powers_off_stops_all_evaluation() -> None:
    scenario = Scenario().grown(2)
    scenario.advance(10)
    scenario.hypervisor.power_off("vm-4")
    scenario.until_state(ServiceState.WARNING, 5)
    assert (scenario.vm_state(4), scenario.worker_state()) == (VmState.POWEROFF, RoleState.WARNING)
    assert scenario.nodes() == [3, 4]
    assert scenario.worker["cardinality"] == 2
    scenario.publish(3, "SLURM_PENDING=9")
    before = len(scenario.events("POLICY_EVALUATED"))
    scenario.advance(100)
    assert len(scenario.events("POLICY_EVALUATED")) == before


def test_the_warning_outlives_the_vm_that_caused_it() -> None:
    scenario = Scenario().grown(2)
    scenario.hypervisor.power_off("vm-4")
    scenario.until_state(ServiceState.WARNING, 5)
    scenario.terminate(4)
    scenario.until(lambda: scenario.nodes() == [3], 5)
    assert scenario.worker["cardinality"] == 1
    scenario.advance(600)
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.WARNING, RoleState.WARNING)


def test_a_vm_lost_during_the_cooldown_is_noticed_after_it() -> None:
    scenario = Scenario(cooldown=60).running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.publish(4, "READY=YES")
    scenario.terminate(3)
    scenario.until(lambda: scenario.vm_state(3) == VmState.DONE)
    scenario.advance(50)
    assert (scenario.nodes(), scenario.worker["cardinality"]) == ([3, 4], 2)
    scenario.advance(15)
    assert (scenario.nodes(), scenario.worker["cardinality"]) == ([4], 1)


def test_a_new_worker_terminated_before_ready_ends_the_scaling_as_if_it_were_ready() -> None:
    scenario = Scenario().running()
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.until_state(ServiceState.SCALING, 15)
    scenario.until(lambda: scenario.runs(4))
    scenario.terminate(4)
    scenario.until_state(ServiceState.COOLDOWN, 5)
    assert scenario.nodes() == [3, 4], "the ghost stays until the cooldown is over"
    scenario.until(lambda: scenario.nodes() == [3], 25)
    assert scenario.worker["cardinality"] == 1


def test_marketplace_numbers() -> None:
    """Two readings 30 s apart grow, two 60 s apart shrink; 120 and 300 s of cooldown."""
    from tests.opennebula.settings import Settings

    policies = [
        {**GROW, "period": 30, "period_number": 2, "cooldown": 120},
        {**SHRINK, "period": 60, "period_number": 2, "cooldown": 300},
    ]
    scenario = Scenario(settings=Settings(), elasticity_policies=policies, max_vms=6).running()
    scenario.publish(3, "SLURM_PENDING=1")
    pending_since = scenario.clock.now()
    scenario.until_state(ServiceState.SCALING)
    assert 30 <= scenario.clock.now() - pending_since <= 60
    scenario.until(lambda: scenario.runs(4))
    scenario.publish(4, "READY=YES")
    ready_at = scenario.clock.now()
    for vm_id in (3, 4):
        scenario.publish(vm_id, "SLURM_PENDING=0", "OLDEST_IDLE=1")
    scenario.until_state(ServiceState.RUNNING)
    assert scenario.clock.now() - ready_at == pytest.approx(120)
    scenario.until_state(ServiceState.SCALING)
    assert 180 <= scenario.clock.now() - ready_at <= 240
    scenario.until_state(ServiceState.COOLDOWN)
    gone_at = scenario.clock.now()
    scenario.until_state(ServiceState.RUNNING)
    assert scenario.clock.now() - gone_at == pytest.approx(300)
    assert scenario.nodes() == [4]
