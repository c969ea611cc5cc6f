# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways a service hangs on a real OneFlow, each brought about on purpose, and what helps."""

from __future__ import annotations

import json

import pytest

from tests.opennebula.oneflow import OneFlowError
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState
from tests.unit.opennebula.scenario import Scenario


def messages(scenario: Scenario) -> list[str]:
    return [entry["message"] for entry in scenario.service.body["log"]]


def recover(scenario: Scenario, **parameters: bool) -> tuple[int, str]:
    action = {"action": {"perform": "recover", "params": parameters}}
    response = scenario.flow_request("POST", f"/service/{scenario.service.id}/action", action)
    scenario.clock.settle()
    return response.status, response.body


def failed_growth(scenario: Scenario) -> Scenario:
    """Worker 4 does not boot."""
    scenario.running()
    scenario.cloud.set_conditions(failing_boots=1)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.until_state(ServiceState.FAILED_SCALING, 30)
    return scenario


# --- the autoscaler's thread ---


def test_a_cloud_without_monitoring_ends_the_autoscaler_until_a_restart() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(has_monitoring=False)
    scenario.advance(15)
    stood = [policy.get("last_eval") for policy in scenario.worker["elasticity_policies"]]
    assert scenario.events("AUTOSCALER_STOPPED") == ['NoMonitoring("undefined method `[]\' for nil:NilClass")']
    scenario.cloud.set_conditions(has_monitoring=True)
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.advance(3600)
    assert [policy.get("last_eval") for policy in scenario.worker["elasticity_policies"]] == stood
    assert (scenario.service.state, scenario.nodes()) == (ServiceState.RUNNING, [3]), "it looks healthy"
    lines = [line.text for line in scenario.cloud.oneflow.server_log.lines]
    assert not [line for line in lines if "NoMonitoring" in line], "nothing in oneflow.log"
    scenario.cloud.oneflow.start()
    scenario.until_state(ServiceState.SCALING, 15)
    assert scenario.worker["elasticity_policies"][0]["last_eval"] == int(scenario.clock.now())


def test_without_vms_to_evaluate_missing_monitoring_does_no_harm() -> None:
    scenario = Scenario()
    scenario.cloud.set_conditions(has_monitoring=False)
    scenario.advance(60)
    assert scenario.service.state == ServiceState.DEPLOYING
    assert scenario.events("AUTOSCALER_STOPPED") == []


# --- a new worker that does not boot ---


def test_a_failed_boot_counts_and_is_not_tried_again() -> None:
    scenario = failed_growth(Scenario())
    scenario.advance(3600)
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.FAILED_SCALING, RoleState.FAILED_SCALING)
    assert (scenario.worker["cardinality"], scenario.nodes()) == (2, [3, 4])
    assert scenario.cloud.vms.get(4).is_in(VmState.ACTIVE, LcmState.BOOT_FAILURE)


def test_its_ordinary_owner_cannot_retry_it() -> None:
    scenario = failed_growth(Scenario())
    assert recover(scenario) == (204, "")
    refusal = "[one.vm.recover] User [2] : Not authorized to perform ADMIN VM [4]."
    assert f"Role worker : Retry failed for VM 4; {refusal}" in messages(scenario)
    assert scenario.service.state == ServiceState.COOLDOWN
    scenario.until_state(ServiceState.WARNING, 30)
    assert scenario.cloud.vms.get(4).lcm_state == LcmState.BOOT_FAILURE


def test_the_warning_stays_after_the_bad_vm_until_another_changes_its_state() -> None:
    scenario = failed_growth(Scenario())
    recover(scenario)
    scenario.until_state(ServiceState.WARNING, 30)
    scenario.terminate(4)
    scenario.until(lambda: scenario.nodes() == [3], 5)
    assert scenario.worker["cardinality"] == 1
    scenario.advance(3600)
    assert scenario.service.state == ServiceState.WARNING
    with pytest.raises(OneFlowError, match="Service cannot be scaled in state: WARNING"):
        scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    assert recover(scenario) == (500, "Service cannot be recovered in state: WARNING")
    scenario.cloud.vms.poweroff(scenario.cloud.vms.get(3))
    scenario.until(lambda: scenario.vm_state(3) == VmState.POWEROFF, 5)
    scenario.cloud.vms.resume(scenario.cloud.vms.get(3))
    scenario.until_state(ServiceState.RUNNING, 5)


def test_a_restart_of_oneflow_ends_the_warning_too() -> None:
    scenario = Scenario().grown(2)
    scenario.hypervisor.power_off("vm-4")
    scenario.until_state(ServiceState.WARNING, 5)
    scenario.terminate(4)
    scenario.until(lambda: scenario.nodes() == [3], 5)
    scenario.cloud.oneflow.start()
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.RUNNING, RoleState.RUNNING)


# --- waits without an end ---


def test_no_ready_keeps_it_scaling_and_recovering_changes_nothing() -> None:
    scenario = Scenario().running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.advance(24 * 3600)
    assert scenario.service.state == ServiceState.SCALING
    assert recover(scenario) == (204, "")
    scenario.advance(3600)
    assert scenario.service.state == ServiceState.SCALING
    scenario.publish(4, "READY=YES")
    assert scenario.service.state == ServiceState.COOLDOWN


def test_a_vm_that_fits_on_no_host_keeps_it_scaling_until_the_vm_goes() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(host_slots=4)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.advance(3600)
    assert (scenario.service.state, scenario.vm_state(4)) == (ServiceState.SCALING, VmState.PENDING)
    scenario.terminate(4)
    scenario.until_state(ServiceState.COOLDOWN, 5)
    scenario.until(lambda: scenario.nodes() == [3], 30)
    assert scenario.worker["cardinality"] == 1


def test_a_slot_that_becomes_free_lets_the_waiting_vm_start() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(host_slots=4)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.advance(60)
    scenario.terminate(0)
    scenario.until(lambda: scenario.runs(4), 5)
    scenario.publish(4, "READY=YES")
    scenario.until_state(ServiceState.RUNNING, 30)


def test_more_slots_let_the_waiting_vm_start() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(host_slots=4)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.advance(60)
    scenario.cloud.set_conditions(host_slots=5)
    scenario.until(lambda: scenario.runs(4), 5)


def test_a_powered_off_worker_stops_all_evaluation_until_it_is_resumed() -> None:
    scenario = Scenario().grown(2)
    scenario.cloud.vms.poweroff(scenario.cloud.vms.get(4))
    scenario.until_state(ServiceState.WARNING, 5)
    scenario.publish(3, "SLURM_PENDING=9")
    before = len(scenario.events("POLICY_EVALUATED"))
    scenario.advance(3600)
    assert len(scenario.events("POLICY_EVALUATED")) == before
    scenario.cloud.vms.resume(scenario.cloud.vms.get(4))
    scenario.until_state(ServiceState.RUNNING, 5)
    scenario.until_state(ServiceState.SCALING, 15)


def test_a_worker_out_of_contact_stops_all_evaluation_until_it_is_back() -> None:
    scenario = Scenario().grown(2)
    scenario.cloud.vms.lose_contact(scenario.cloud.vms.get(4))
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.WARNING, RoleState.WARNING)
    before = len(scenario.events("POLICY_EVALUATED"))
    scenario.advance(3600)
    assert len(scenario.events("POLICY_EVALUATED")) == before
    scenario.cloud.vms.regain_contact(scenario.cloud.vms.get(4))
    assert (scenario.service.state, scenario.nodes()) == (ServiceState.RUNNING, [3, 4])


# --- VMs that do not end ---


def test_a_vm_that_does_not_end_fails_the_scaling_and_recovering_forces_it() -> None:
    scenario = Scenario().grown(3)
    scenario.cloud.set_conditions(failing_ends=1)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 1)
    scenario.until_state(ServiceState.FAILED_SCALING, 30)
    assert (scenario.nodes(), scenario.worker["cardinality"]) == ([3, 5], 1), "the one that ended has left"
    assert scenario.cloud.vms.get(3).lcm_state == LcmState.EPILOG_FAILURE
    assert recover(scenario) == (204, "")
    refusal = "[one.vm.recover] User [2] : Not authorized to perform ADMIN VM [3]."
    assert f"Role worker : Terminate failed for VM 3, will perform a Delete; {refusal}" in messages(scenario)
    scenario.until_state(ServiceState.COOLDOWN, 30)
    assert scenario.nodes() == [5]


def test_a_vm_that_does_not_end_fails_the_removal_and_recovering_goes_on() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(failing_ends=1)
    scenario.cloud.oneflow.delete(scenario.service.id)
    scenario.until_state(ServiceState.FAILED_UNDEPLOYING, 30)
    assert scenario.worker_state() == RoleState.FAILED_UNDEPLOYING
    with pytest.raises(OneFlowError, match="Service cannot be undeployed in state: FAILED_UNDEPLOYING"):
        scenario.cloud.oneflow.delete(scenario.service.id)
    assert recover(scenario) == (204, "")
    scenario.until(lambda: not scenario.cloud.oneflow.services, 60)
    assert all(scenario.vm_state(vm_id) == VmState.DONE for vm_id in (1, 2, 3))


# --- other faults ---


def test_a_vm_that_oneflow_could_not_read_has_no_vm_info() -> None:
    scenario = Scenario().running()
    scenario.cloud.set_conditions(vm_info_readable=False)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    assert scenario.worker["nodes"][-1] == {"deploy_id": 4, "vm_info": None}
    scenario.publish(4, "READY=YES")
    scenario.until_state(ServiceState.RUNNING, 30)
    assert scenario.nodes() == [3, 4]


def test_a_network_in_error_fails_the_service_and_recovering_looks_again() -> None:
    scenario = Scenario()
    scenario.cloud.set_conditions(networks_in_error=(1,))
    scenario.until_state(ServiceState.FAILED_DEPLOYING_NETS, 5)
    assert [scenario.nodes(name) for name in ("storage", "portal", "worker")] == [[], [], []]
    scenario.cloud.set_conditions(networks_in_error=())
    assert recover(scenario) == (204, "")
    scenario.running()


def test_a_scale_down_that_hangs_is_recovered_by_force() -> None:
    scenario = Scenario(obeys=False).grown(2)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 1)
    scenario.advance(10)
    assert scenario.service.state == ServiceState.SCALING
    assert recover(scenario) == (204, "")
    scenario.until(lambda: scenario.nodes() == [4], 5)
    assert scenario.service.state == ServiceState.COOLDOWN


def test_recovering_a_failed_deployment_makes_what_is_missing() -> None:
    scenario = Scenario()
    scenario.cloud.networks[1].size = 0
    scenario.until_state(ServiceState.FAILED_DEPLOYING, 10)
    scenario.cloud.networks[1].size = 100
    assert recover(scenario) == (204, "")
    scenario.running()


def test_recovering_in_cooldown_ends_it_at_once() -> None:
    scenario = Scenario(cooldown=3600).running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.publish(4, "READY=YES")
    assert scenario.service.state == ServiceState.COOLDOWN
    assert recover(scenario) == (204, "")
    assert (scenario.service.state, scenario.worker_state()) == (ServiceState.RUNNING, RoleState.RUNNING)
    states = len(scenario.events("SERVICE_STATE"))
    scenario.advance(7200)
    assert len(scenario.events("SERVICE_STATE")) == states, "the cooldown is forgotten"


def test_recovering_with_delete_removes_a_service_in_any_state() -> None:
    scenario = failed_growth(Scenario())
    assert recover(scenario, delete=True) == (204, "")
    scenario.until(lambda: not scenario.cloud.oneflow.services, 60)
    assert all(scenario.vm_state(vm_id) == VmState.DONE for vm_id in (1, 2, 3, 4))


def test_a_restart_goes_on_with_what_was_under_way() -> None:
    scenario = Scenario().running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.until(lambda: scenario.runs(4))
    scenario.cloud.vms.get(4).user_template["READY"] = ["YES"]
    scenario.cloud.oneflow.start()
    scenario.until_state(ServiceState.COOLDOWN, 1)


# --- what OneFlow does not see ---


def test_a_worker_that_is_recreated_keeps_its_place_and_what_it_published() -> None:
    """A mean is made of its old figures until its new guest publishes others."""
    scenario = Scenario().running()
    scenario.publish(3, "SLURM_PENDING=0", "OLDEST_IDLE=0.5")
    before = len(scenario.events("SERVICE_STATE", "ROLE_STATE", "CARDINALITY"))
    scenario.cloud.vms.delete_recreate(scenario.cloud.vms.get(3))
    seen = json.loads(scenario.get("/vms/3", 2).body)["VM"]
    assert (seen["STATE"], seen["LCM_STATE"]) == ("3", "15")
    scenario.until(lambda: scenario.vm_state(3) == VmState.PENDING, 30)
    scenario.until(lambda: scenario.runs(3), 30)
    scenario.advance(30)
    assert scenario.cloud.vms.get(3).attribute("READY") == "YES"
    assert [text for text, _ in scenario.policies()] == ["SLURM_PENDING[0.0] > 0", "OLDEST_IDLE[0.5] > 0.99"]
    assert (scenario.service.state, scenario.nodes(), scenario.worker["cardinality"]) == (ServiceState.RUNNING, [3], 1)
    assert len(scenario.events("SERVICE_STATE", "ROLE_STATE", "CARDINALITY")) == before


@pytest.mark.parametrize("wrong", [{"nothing": 1}, {"acting_delay_seconds": 61}, {"acting_delay_seconds": -1}])
def test_conditions_that_there_are_not(wrong: dict[str, object]) -> None:
    scenario = Scenario()
    with pytest.raises(ValueError, match="acting_delay_seconds must be 0 to 60|no condition is called nothing"):
        scenario.cloud.set_conditions(failing_boots=7, **wrong)
    assert scenario.cloud.conditions.failing_boots == 0
