# SPDX-License-Identifier: GPL-3.0-or-later
"""Between OneFlow's reading and its acting the cloud goes on: what changes then no longer stops the action."""

from __future__ import annotations

import time

from tests.opennebula.settings import Settings
from tests.opennebula.states import ServiceState
from tests.unit.opennebula.scenario import GROW, SHRINK, Scenario


def test_without_a_delay_it_acts_on_what_it_has_just_read() -> None:
    scenario = Scenario().grown(2)
    scenario.publish(3, "OLDEST_IDLE=1")
    scenario.until_state(ServiceState.SCALING, 15)
    assert scenario.clock.now() == next(
        event["time"] for event in scenario.cloud.events.since() if event["kind"] == "POLICY_FIRED"
    )


def test_a_withdrawn_idle_comes_too_late() -> None:
    scenario = Scenario().grown(2)
    scenario.advance(10)
    scenario.cloud.set_conditions(acting_delay_seconds=60)
    scenario.publish(3, "OLDEST_IDLE=1")
    scenario.advance(15)
    scenario.publish(3, "OLDEST_IDLE=0", "READY=NO")
    scenario.advance(30)
    assert (scenario.service.state, scenario.nodes()) == (ServiceState.RUNNING, [3, 4])
    scenario.until(lambda: scenario.nodes() == [4], 30)
    assert scenario.events("POLICY_FIRED") == ["#1 OLDEST_IDLE[1.0] > 0.99: -1"]


def test_a_value_published_after_the_reading_waits_for_the_next_one() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(acting_delay_seconds=40)
    scenario.until(lambda: bool(scenario.events("POLICY_EVALUATED")), 60)
    scenario.advance(11)
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.advance(35)
    assert scenario.service.state == ServiceState.RUNNING
    scenario.until_state(ServiceState.SCALING, 60)


def test_a_vm_terminated_in_between_turns_the_shrinking_into_a_refusal() -> None:
    scenario = Scenario().grown(2)
    scenario.advance(10)
    scenario.cloud.set_conditions(acting_delay_seconds=60)
    scenario.publish(3, "OLDEST_IDLE=1")
    scenario.advance(20)
    scenario.terminate(4)
    scenario.until(lambda: scenario.nodes() == [3], 5)
    scenario.until(lambda: bool(scenario.events("POLICY_FIRED")), 60)
    lines = [line.text for line in scenario.cloud.oneflow.server_log.lines]
    assert "Cardinality of worker is already at 1" in lines, "it wanted one less than it had read"
    assert scenario.nodes() == [3]


def test_two_vms_terminated_in_between_turn_the_shrinking_into_growth() -> None:
    scenario = Scenario().grown(3)
    scenario.advance(10)
    scenario.cloud.set_conditions(acting_delay_seconds=60)
    scenario.publish(3, "OLDEST_IDLE=1")
    scenario.advance(20)
    scenario.terminate(4)
    scenario.terminate(5)
    scenario.until_state(ServiceState.SCALING, 60)
    assert (scenario.worker["cardinality"], scenario.nodes()) == (2, [3, 6])


def test_a_scaling_by_hand_in_between_is_in_the_way() -> None:
    scenario = Scenario().running()
    scenario.advance(10)
    scenario.cloud.set_conditions(acting_delay_seconds=60)
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.advance(20)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.advance(60)
    lines = [line.text for line in scenario.cloud.oneflow.server_log.lines]
    assert "Service cannot be scaled in state: SCALING" in lines
    assert scenario.nodes() == [3, 4]


def test_a_service_deleted_in_between_is_let_be() -> None:
    scenario = Scenario().running()
    scenario.advance(10)
    scenario.cloud.set_conditions(acting_delay_seconds=60)
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.advance(20)
    scenario.cloud.oneflow.delete(scenario.service.id)
    scenario.advance(120)
    assert scenario.cloud.oneflow.services == {}
    assert scenario.events("AUTOSCALER_STOPPED") == []


def test_the_delay_is_part_of_the_distance_of_two_readings() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(acting_delay_seconds=25)
    scenario.advance(400)
    times = [
        event["time"]
        for event in scenario.cloud.events.since()
        if event["kind"] == "POLICY_EVALUATED" and event["text"].startswith("#0")
    ]
    distances = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    assert set(distances[2:]) == {35.0}


def test_three_hours_of_an_elastic_pool_take_seconds() -> None:
    """Every 20 minutes jobs come and go; the marketplace's numbers, the real server's settings, a delay of 7 s."""
    policies = [
        {**GROW, "period": 30, "period_number": 2, "cooldown": 120},
        {**SHRINK, "period": 60, "period_number": 2, "cooldown": 300},
    ]
    scenario = Scenario(settings=Settings(), elasticity_policies=policies, max_vms=4, cooldown=120).running()
    scenario.cloud.set_conditions(acting_delay_seconds=7)
    began, until = time.monotonic(), scenario.clock.now() + 3 * 3600
    busy = True
    while scenario.clock.now() < until:
        end_of_phase = scenario.clock.now() + 1200
        while scenario.clock.now() < end_of_phase:
            scenario.advance(30)
            for vm_id in scenario.nodes():
                lines = [f"SLURM_PENDING={int(busy)}", f"OLDEST_IDLE={int(not busy)}"]
                if scenario.runs(vm_id):
                    scenario.publish(vm_id, "READY=YES", *lines)
        busy = not busy
    sizes = [int(text.split(" -> ")[1]) for text in scenario.events("CARDINALITY")]
    assert sizes == [2, 3, 4, 3, 2, 1] * 4 + [2, 3, 4], sizes
    assert len(scenario.events("POLICY_EVALUATED")) > 100
    assert time.monotonic() - began < 10
