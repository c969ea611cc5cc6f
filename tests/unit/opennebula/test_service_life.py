# SPDX-License-Identifier: GPL-3.0-or-later
"""A service from its template to its deletion, in virtual time."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.opennebula.instantiation import role_vm_template
from tests.opennebula.oneflow import OneFlowError
from tests.opennebula.settings import Settings
from tests.opennebula.states import RoleState, ServiceState, VmState
from tests.unit.opennebula.scenario import NETWORKS, Scenario, sample, service_template


def test_deployment_follows_the_parents_and_waits_for_ready() -> None:
    scenario = Scenario()
    scenario.advance(0.1)
    assert scenario.service.state == ServiceState.DEPLOYING_NETS
    scenario.advance(0.5)
    assert scenario.service.state == ServiceState.DEPLOYING
    assert [scenario.nodes(role) for role in ("storage", "portal", "worker")] == [[1], [], []]
    scenario.advance(3600)
    assert scenario.service.state == ServiceState.DEPLOYING, "there is no time limit on READY"
    scenario.publish(1, "READY=YES")
    assert scenario.nodes("portal") == [2], "the child's VM is created in the same second"
    scenario.publish(2, "READY=YES")
    scenario.publish(3, "READY=NO")
    scenario.advance(60)
    assert scenario.service.state == ServiceState.DEPLOYING
    scenario.publish(3, "READY=YES")
    assert scenario.service.state == ServiceState.RUNNING
    assert scenario.events("SERVICE_STATE") == [
        "PENDING -> DEPLOYING_NETS",
        "DEPLOYING_NETS -> DEPLOYING",
        "DEPLOYING -> RUNNING",
    ]


def test_ready_only_as_part_of_another_name_passes_by_the_event() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    scenario.publish(1, "SLURMD_READY=NO")
    assert scenario.nodes("portal") == []
    scenario.publish(1, "SLURMD_READY=YES")
    assert scenario.nodes("portal") == [2]


def test_ready_in_small_letters_does_not_pass_and_a_trailing_blank_does() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    scenario.publish(1, "READY=yes")
    scenario.advance(30)
    assert scenario.nodes("portal") == []
    scenario.publish(1, 'READY="YES "')
    assert scenario.nodes("portal") == [2]


def test_an_update_of_another_vm_makes_nobody_ready() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    scenario.publish(0, "READY=YES")
    scenario.advance(30)
    assert scenario.nodes("portal") == []


def test_a_sibling_may_report_for_it() -> None:
    scenario = Scenario().running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    scenario.until(lambda: scenario.runs(4))
    assert scenario.put("/vms/4", 2, "READY=YES").status == 200
    scenario.until_state(ServiceState.COOLDOWN, 1)


def test_a_wait_that_hears_nothing_looks_itself() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    # set behind OneFlow's back: no event
    scenario.cloud.vms.get(1).user_template["READY"] = ["YES"]
    scenario.advance(4)
    assert scenario.nodes("portal") == []
    scenario.advance(2)
    assert scenario.nodes("portal") == [2]


def test_any_update_in_the_cloud_postpones_that_look() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    scenario.cloud.vms.get(1).user_template["READY"] = ["YES"]
    for _ in range(5):
        scenario.advance(4)
        scenario.publish(0, "TICK=1")
    assert scenario.nodes("portal") == []
    scenario.advance(6)
    assert scenario.nodes("portal") == [2]


def test_without_the_gate_running_vms_are_enough() -> None:
    scenario = Scenario(gate=False)
    scenario.until_state(ServiceState.RUNNING, 5)
    assert scenario.nodes() == [3]


def test_a_vm_that_powers_off_while_it_is_waited_for_counts_as_ready() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    scenario.hypervisor.power_off("vm-1")
    scenario.until(lambda: scenario.nodes("portal") == [2], 5)
    assert scenario.vm_state(1) == VmState.POWEROFF


def test_a_failed_boot_is_found_by_looking() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(0))
    scenario.hypervisor.boot_failure = "no kernel"
    scenario.until_state(ServiceState.FAILED_DEPLOYING, 60)
    assert scenario.service.role("storage")["state"] == RoleState.FAILED_DEPLOYING
    assert "BOOT_FAILURE: boot failed: no kernel" in scenario.events("VM_STATE")
    with pytest.raises(OneFlowError, match="Service cannot be undeployed in state: FAILED_DEPLOYING"):
        scenario.cloud.oneflow.delete(scenario.service.id)


def test_a_failed_boot_of_a_new_worker_fails_the_scaling() -> None:
    scenario = Scenario().running()
    scenario.hypervisor.boot_failure = "no memory"
    scenario.publish(3, "SLURM_PENDING=1")
    scenario.until_state(ServiceState.FAILED_SCALING, 60)
    assert scenario.worker_state() == RoleState.FAILED_SCALING
    assert scenario.worker["cardinality"] == 2, "the bad VM counts"
    scenario.advance(600)
    assert scenario.service.state == ServiceState.FAILED_SCALING


def test_without_a_vm_template_the_service_stays_where_it_is() -> None:
    scenario = Scenario()
    template = scenario.cloud.oneflow.create_template(service_template(99))
    service = scenario.cloud.oneflow.instantiate(template, {"networks_values": NETWORKS})
    scenario.advance(3600)
    assert service.state == ServiceState.DEPLOYING_NETS


def test_networks_without_a_free_address_fail_the_deployment() -> None:
    scenario = Scenario()
    scenario.cloud.networks[1].size = 0
    scenario.until_state(ServiceState.FAILED_DEPLOYING, 10)
    assert "Instantiate failed for template 0" in scenario.service.body["log"][-2]["message"]
    assert scenario.cloud.networks[0].leases == {}, "a lease of the other network was given back"


def test_context_of_every_role() -> None:
    scenario = Scenario().running()
    contexts = {vm_id: scenario.cloud.vms.get(vm_id).template["CONTEXT"] for vm_id in (1, 2, 3)}
    storage_address = contexts[1]["ETH1_IP"]
    assert [contexts[vm_id]["ONEAPP_ROLE"] for vm_id in (1, 2, 3)] == ["storage", "portal", "worker"]
    assert [contexts[vm_id]["ONEAPP_NFS_HOST"] for vm_id in (1, 2, 3)] == ["", storage_address, storage_address]
    assert contexts[3]["VMID"] == "3"
    assert contexts[3]["TOKEN"] == "YES", "entries of the VM template's context stay"
    assert contexts[3]["REPORT_READY"] == "YES"
    assert contexts[3]["ONEGATE_ENDPOINT"] == "http://169.254.16.9:5030"
    assert contexts[3]["ETH0_GATEWAY"] == "10.66.0.1"
    assert contexts[3]["ETH1_GATEWAY"] == ""


def test_values_of_parents_are_read_anew_for_each_new_vm() -> None:
    scenario = Scenario().running()
    scenario.cloud.vms.get(1).template["CONTEXT"]["ETH1_IP"] = "10.77.0.99"
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    assert scenario.cloud.vms.get(4).template["CONTEXT"]["ONEAPP_NFS_HOST"] == "10.77.0.99"
    assert scenario.cloud.vms.get(3).template["CONTEXT"]["ONEAPP_NFS_HOST"] != "10.77.0.99"


def test_the_recorded_body_of_a_service_with_networks_and_parent_values() -> None:
    recorded = sample("oneflow-networks-and-parent-values.json")[0]
    scenario = Scenario()
    template = scenario.cloud.oneflow.create_template(recorded["template"])
    service = scenario.cloud.oneflow.instantiate(template, {"name": "svc-c"})
    scenario.until(lambda: service.state == ServiceState.RUNNING, 60)
    known = {"registration_time", "start_time", "log", "nodes"}
    body, expected = service.body, recorded["final_body"]
    assert {key: value for key, value in body.items() if key not in {*known, "roles"}} == {
        key: value for key, value in expected.items() if key not in {*known, "roles"}
    }
    for role, expected_role in zip(body["roles"], expected["roles"], strict=True):
        assert {key: value for key, value in role.items() if key not in known} == {
            key: value for key, value in expected_role.items() if key not in known
        }
    assert [entry["message"] for entry in body["log"]] == [entry["message"] for entry in expected["log"]]
    worker = scenario.cloud.vms.get(service.role("worker")["nodes"][0]["deploy_id"])
    storage = scenario.cloud.vms.get(service.role("storage")["nodes"][0]["deploy_id"])
    address = storage.template["NIC"][0]["IP"]
    assert storage.template["NIC"][0]["NAME"] == "_NIC0"
    assert storage.attribute("ROLE_NOTE") == "a b"
    assert worker.attribute("STORAGE_IP") == address == worker.template["CONTEXT"]["STORAGE"]
    assert worker.name == f"worker_0_(service_{service.id})"


def test_user_inputs_reach_context_and_user_template_of_every_role() -> None:
    scenario = Scenario()
    wanted = {
        **service_template(0, gate=False),
        "user_inputs": {"ONEAPP_USERS": "M|text|u", "ONEAPP_X": "O|text|x"},
    }
    template = scenario.cloud.oneflow.create_template(wanted)
    inputs = {"ONEAPP_USERS": "demo", "ONEAPP_X": ""}
    service = scenario.cloud.oneflow.instantiate(template, {"networks_values": NETWORKS, "user_inputs_values": inputs})
    scenario.until(lambda: service.state == ServiceState.RUNNING, 60)
    for role in service.roles:
        vm = scenario.cloud.vms.get(role["nodes"][0]["deploy_id"])
        assert (vm.template["CONTEXT"]["ONEAPP_USERS"], vm.template["CONTEXT"]["ONEAPP_X"]) == ("demo", "")
        assert (vm.attribute("ONEAPP_USERS"), vm.attribute("ONEAPP_X")) == ("demo", "")


@pytest.mark.parametrize(
    ("own", "of_role", "merged"),
    [
        ({"NETWORK": "m"}, [{"NAME": "a"}], [{"NETWORK": "m", "NAME": "a"}]),
        ([{"NETWORK": "m"}, {"NETWORK": "c"}], [{"NAME": "a"}], [{"NETWORK": "m", "NAME": "a"}, {"NETWORK": "c"}]),
        # more than the template has: the role's list replaces it
        ([{"NETWORK": "m"}], [{"NAME": "a"}, {"NAME": "b"}], [{"NAME": "a"}, {"NAME": "b"}]),
    ],
)
def test_interfaces_of_vm_template_and_role(own: Any, of_role: list, merged: list) -> None:
    vm_template = {"NIC": own, "CONTEXT": {"TOKEN": "YES"}}
    before = copy.deepcopy(vm_template)
    role = {"name": "w", "template_contents": {"NIC": of_role, "CONTEXT": {"A": "1"}}}
    template = role_vm_template(vm_template, role, 7, {})
    assert template["NIC"] == merged
    assert template["CONTEXT"] == {"TOKEN": "YES", "A": "1"}
    assert (template["SERVICE_ID"], template["ROLE_NAME"]) == ("7", "w")
    assert vm_template == before


def test_names_of_vms_count_up_and_never_back() -> None:
    scenario = Scenario().grown(2)
    scenario.terminate(4)
    scenario.until(lambda: scenario.nodes() == [3])
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    assert [vm.name for vm in scenario.cloud.vms.vms.values()][3:] == [
        "worker_0_(service_1)",
        "worker_1_(service_1)",
        "worker_2_(service_1)",
    ]


def test_deletion_in_reverse_order() -> None:
    scenario = Scenario().running()
    assert scenario.flow_request("DELETE", "/service/1").status == 204
    assert scenario.service.state == ServiceState.UNDEPLOYING
    scenario.until(lambda: 1 not in scenario.cloud.oneflow.services, 60)
    order = [
        event["role"]
        for event in scenario.cloud.events.since()
        if event["kind"] == "VM_STATE" and event["text"] == "DONE"
    ]
    assert order == ["worker", "portal", "storage"]
    response = scenario.flow_request("GET", "/service/1")
    assert (response.status, response.body) == (404, "[one.document.info] Error getting document [1].")
    assert scenario.get("/service", 2).body == "Service 1 not found"


@pytest.mark.parametrize("state", [ServiceState.SCALING, ServiceState.COOLDOWN])
def test_neither_deletion_nor_scaling_while_it_scales_or_cools(state: ServiceState) -> None:
    scenario = Scenario().running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    if state == ServiceState.COOLDOWN:
        scenario.until(lambda: scenario.runs(4))
        scenario.publish(4, "READY=YES")
    response = scenario.flow_request("DELETE", "/service/1")
    assert (response.status, response.body) == (500, f"Service cannot be undeployed in state: {state.name}")
    with pytest.raises(OneFlowError, match=f"Service cannot be scaled in state: {state.name}"):
        scenario.cloud.oneflow.scale(scenario.service.id, "worker", 3)


@pytest.mark.parametrize(
    ("role", "cardinality", "text"),
    [
        ("worker", 0, "Can't scale service 1: Minimum cardinality is 1"),
        ("worker", 4, "Can't scale service 1: Maximum cardinality is 3"),
        ("nope", 1, "Role nope not found"),
        ("worker", 1, "Cardinality of worker is already at 1"),
    ],
)
def test_refused_scalings(role: str, cardinality: int, text: str) -> None:
    scenario = Scenario().running()
    with pytest.raises(OneFlowError) as caught:
        scenario.cloud.oneflow.scale(scenario.service.id, role, cardinality)
    assert str(caught.value) == text
    assert scenario.service.state == ServiceState.RUNNING


def test_the_log_of_a_service_keeps_50_entries() -> None:
    scenario = Scenario(cooldown=0).running()
    for _ in range(20):
        scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
        newest = scenario.nodes()[-1]
        scenario.until(lambda newest=newest: scenario.runs(newest))
        scenario.publish(newest, "READY=YES")
        scenario.until_state(ServiceState.RUNNING)
        scenario.cloud.oneflow.scale(scenario.service.id, "worker", 1)
        scenario.until_state(ServiceState.RUNNING)
    assert len(scenario.service.body["log"]) == 50
    last = scenario.service.body["log"][-1]
    assert last == {"timestamp": int(scenario.clock.now()), "severity": "I", "message": "New state: RUNNING"}


def test_days_pass_in_no_time() -> None:
    settings = Settings(autoscaler_interval_seconds=30, power_poll_seconds=60)
    scenario = Scenario(settings=settings).running()
    scenario.advance(2 * 24 * 3600)
    assert len(scenario.events("POLICY_EVALUATED")) > 2 * 2 * 24 * 100
    assert scenario.service.state == ServiceState.RUNNING
