# SPDX-License-Identifier: GPL-3.0-or-later
"""What OneGate shows of VMs and of the service."""

from __future__ import annotations

from typing import Any

import pytest

from tests.opennebula import onegate
from tests.opennebula.messages import compact_json
from tests.opennebula.states import ServiceState, VmState
from tests.unit.opennebula.scenario import Scenario, sample


@pytest.fixture(scope="module")
def cloud() -> Scenario:
    return Scenario().grown(2)


def shape(value: Any) -> Any:
    """Names and kinds of values, without the values."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def test_vm_has_the_recorded_shape(cloud: Scenario) -> None:
    recorded = shape(sample("onegate-vm.json"))
    shown = shape(onegate.parsed(cloud.get("/vm", 2)))
    del recorded["VM"]["USER_TEMPLATE"], shown["VM"]["USER_TEMPLATE"]
    assert shown == recorded


def test_vm_shows_both_interfaces_and_no_context(cloud: Scenario) -> None:
    template = onegate.parsed(cloud.get("/vm", 2))["VM"]["TEMPLATE"]
    assert [nic["NETWORK"] for nic in template["NIC"]] == ["Management", "Compute"]
    assert set(template) == {"NIC", "NIC_ALIAS"}


def test_user_template_of_a_new_service_vm() -> None:
    scenario = Scenario()
    scenario.until(lambda: scenario.runs(1))
    attributes = onegate.parsed(scenario.get("/vm", 1))["VM"]["USER_TEMPLATE"]
    assert attributes == {"ONEAPP_ROLE": "storage", "ROLE_NAME": "storage", "SERVICE_ID": "1"}


def test_user_template_is_an_empty_object_without_attributes(cloud: Scenario) -> None:
    assert '"USER_TEMPLATE":{}' in cloud.get("/vm", 0).body


def test_service_has_the_recorded_shape_and_order(cloud: Scenario) -> None:
    response = cloud.get("/service", 2)
    assert response.status == 200
    shown = onegate.parsed(response)
    assert shape(shown) == shape(sample("onegate-service.json"))
    assert [role["name"] for role in shown["SERVICE"]["roles"]] == ["storage", "portal", "worker"]
    assert [node["deploy_id"] for node in shown["SERVICE"]["roles"][2]["nodes"]] == [3, 4]
    assert shown["SERVICE"]["roles"][2]["nodes"][1]["vm_info"]["VM"]["NAME"] == "worker_1_(service_1)"
    assert shown["SERVICE"]["id"] == "1"
    assert shown["SERVICE"]["state"] == 2


@pytest.mark.parametrize("name", ["onegate-exchanges.json"])
def test_json_is_written_as_the_real_server_writes_it(name: str) -> None:
    bodies = [case for case in sample(name) if isinstance(case["response"], dict) and case["headers"]]
    assert bodies
    for case in bodies:
        assert len(compact_json(case["response"]).encode()) == int(case["headers"]["Content-Length"]), case["case"]


def test_siblings_and_strangers(cloud: Scenario) -> None:
    assert onegate.parsed(cloud.get("/vms/1", 2))["VM"]["NAME"] == "storage_0_(service_1)"
    for path, vm_id in (("/vms/0", 0), ("/vms/999", 999), ("/vms/abc", 0)):
        response = cloud.get(path, 2)
        assert (response.status, response.body) == (400, f"Service 1 does not contain VM {vm_id}.")


def test_a_vm_without_service(cloud: Scenario) -> None:
    response = cloud.get("/service", 0)
    assert (response.status, response.body) == (400, "Empty or invalid SERVICE_ID")
    response = cloud.get("/vms/1", 0)
    assert response.status == 400
    assert response.body == (
        "This VM does not belong to any Virtual Router or Service, so it cannot retrieve information from other VMs"
    )
    assert cloud.get("/vms/0", 0).status == 200


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/vm"), ("PATCH", "/vm"), ("POST", "/vm"), ("GET", "/nope"), ("PUT", "/service")]
)
def test_what_onegate_does_not_do(cloud: Scenario, method: str, path: str) -> None:
    response = cloud.gate_request(method, path, 2)
    assert (response.status, response.body) == (400, "OneGate server doesn't support this feature")


def test_oneflow_down_looks_like_no_service() -> None:
    scenario = Scenario().running()
    scenario.cloud.oneflow.available = False
    for response in (scenario.get("/service", 2), scenario.get("/vms/1", 2), scenario.put("/vms/1", 2, "X=1")):
        assert (response.status, response.body) == (404, "Service 1 not found")
    assert scenario.get("/vm", 2).status == 200
    assert scenario.put("/vm", 2, "X=1").status == 200
    assert scenario.get("/vms/2", 2).status == 200


def test_service_and_vm_while_a_worker_terminates() -> None:
    scenario = Scenario(obeys=False).grown(2)
    for vm_id in (3, 4):
        scenario.publish(vm_id, "SLURM_PENDING=0", "OLDEST_IDLE=1")
    scenario.until_state(ServiceState.SCALING, 15)
    service = onegate.parsed(scenario.get("/service", 3))["SERVICE"]
    worker = service["roles"][2]
    assert (service["state"], worker["state"], worker["cardinality"]) == (8, 8, 1)
    assert [node["deploy_id"] for node in worker["nodes"]] == [3, 4]
    vm = onegate.parsed(scenario.get("/vm", 3))["VM"]
    assert (vm["STATE"], vm["LCM_STATE"]) == ("3", "12")
    assert scenario.put("/vm", 3, "OLDEST_IDLE=0").status == 200
    assert shape(onegate.parsed(scenario.get("/service", 3))) == shape(sample("onegate-service-while-terminating.json"))


def test_a_vm_that_left_its_service() -> None:
    scenario = Scenario().grown(2)
    scenario.terminate(3)
    scenario.until(lambda: scenario.vm_state(3) == VmState.DONE)
    response = scenario.get("/service", 3)
    assert (response.status, response.body) == (400, "Service 1 does not contain VM 3.")
    assert scenario.get("/vms/3", 2).body == "Service 1 does not contain VM 3."
    vm = onegate.parsed(scenario.get("/vm", 3))["VM"]
    assert (vm["STATE"], vm["LCM_STATE"]) == ("6", "0")
