# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions on VMs and changes of cardinality through OneGate, beyond what was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.opennebula import onegate
from tests.opennebula.messages import Response
from tests.opennebula.states import LcmState, ServiceState, VmState
from tests.unit.opennebula.scenario import Scenario


def act(scenario: Scenario, path: str, by: int, name: Any, params: Any = None) -> Response:
    body = json.dumps({"action": {"perform": name, "params": params}})
    return scenario.gate_request("POST", f"{path}/action", by, body.encode())


def test_poweroff_and_resume() -> None:
    scenario = Scenario().running()
    response = act(scenario, "/vms/3", 2, "poweroff")
    assert (response.status, response.body, response.content_type) == (204, "", None)
    assert scenario.cloud.vms.get(3).lcm_state == LcmState.SHUTDOWN_POWEROFF
    scenario.until(lambda: scenario.vm_state(3) == VmState.POWEROFF)
    scenario.until_state(ServiceState.WARNING)
    assert act(scenario, "/vms/3", 2, "resume").status == 204
    scenario.until(lambda: scenario.runs(3))
    scenario.until_state(ServiceState.RUNNING)


def test_a_vm_that_does_not_obey_loses_its_power_at_the_end_of_the_time() -> None:
    scenario = Scenario(obeys=False).running()
    assert act(scenario, "/vms/3", 3, "poweroff").status == 204
    scenario.advance(119)
    assert scenario.vm_state(3) == VmState.ACTIVE
    scenario.until(lambda: scenario.vm_state(3) == VmState.POWEROFF, 5)


@pytest.mark.parametrize(
    ("name", "params", "calls"),
    [
        ("terminate", False, ["shutdown"]),
        ("terminate", True, ["destroy"]),
        ("shutdown", None, ["shutdown"]),
        ("delete", None, ["destroy"]),
        ("poweroff", True, ["destroy"]),
        ("poweroff", False, ["shutdown"]),
    ],
)
def test_by_force_or_not(name: str, params: Any, calls: list[str]) -> None:
    scenario = Scenario().running()
    scenario.hypervisor.calls.clear()
    assert act(scenario, "/vms/3", 2, name, params).status == 204
    scenario.until(lambda: scenario.vm_state(3) in (VmState.DONE, VmState.POWEROFF))
    assert [call for call, guest in scenario.hypervisor.calls if guest == "vm-3"] == calls


@pytest.mark.parametrize("name", ["resume", "release", "hold"])
def test_what_the_state_does_not_allow_is_500(name: str) -> None:
    scenario = Scenario().running()
    response = act(scenario, "/vms/3", 2, name)
    assert (response.status, response.body) == (500, "Internal server error")
    scenario.cloud.onegate.change({"shows_causes": True})
    assert "wrong state ACTIVE, RUNNING" in act(scenario, "/vms/3", 2, name).body


def test_a_vm_that_is_done() -> None:
    scenario = Scenario().grown(2)
    scenario.terminate(4, hard=True)
    scenario.until(lambda: scenario.vm_state(4) == VmState.DONE)
    assert act(scenario, "/vms/4", 2, "terminate").status == 400
    assert act(scenario, "/vms/4", 4, "terminate").status == 500


@pytest.fixture(scope="module")
def cloud() -> Scenario:
    return Scenario().running()


@pytest.mark.parametrize("path", ["/vms/0", "/vms/999", "/vms/abc"])
def test_strangers(cloud: Scenario, path: str) -> None:
    assert act(cloud, path, 2, "terminate").status == 400


def test_a_vm_without_service_may_act_on_itself_only(cloud: Scenario) -> None:
    assert act(cloud, "/vms/0", 0, "rename", {"name": "other"}).status == 204
    assert onegate.parsed(cloud.get("/vm", 0))["VM"]["NAME"] == "other"
    assert act(cloud, "/vms/3", 0, "rename", {"name": "mine"}).body.startswith("This VM does not belong to any")
    assert act(cloud, "/vms/0", 0, "rename", {"name": ""}).status == 500


@pytest.mark.parametrize(("name", "status"), [("reboot", 403), ("REBOOT", 403), ("resched", 204), ("dance", 500)])
def test_names(cloud: Scenario, name: str, status: int) -> None:
    response = act(cloud, "/vms/3", 2, name)
    assert response.status == status
    if status == 403:
        assert response.body == f"Action ({name}) is not allowed on this resource"


@pytest.mark.parametrize("name", [None, 5, ["terminate"], {}])
def test_names_that_are_none(cloud: Scenario, name: Any) -> None:
    assert act(cloud, "/vms/3", 2, name).status == 500


@pytest.mark.parametrize("name", ["migrate", "attachdisk", "suspend"])
def test_what_is_not_simulated_is_not_pretended(cloud: Scenario, name: str) -> None:
    assert act(cloud, "/vms/3", 2, name).status == 501


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("perform=x", "unexpected token at 'perform=x'"),
        ("{}", "Error parsing JSON: Wrong resource type"),
        ('{"action":"terminate"}', "Error parsing JSON: Wrong resource type"),
        ("[]", "Error parsing JSON: Wrong resource type"),
    ],
)
def test_bodies_that_are_no_action(cloud: Scenario, body: str, text: str) -> None:
    response = cloud.gate_request("POST", "/vms/3/action", 2, body.encode())
    assert (response.status, response.body) == (400, text)


# --- cardinality ---


def scale(scenario: Scenario, role: str, body: str, by: int = 2) -> Response:
    return scenario.gate_request("PUT", f"/service/role/{role}", by, body.encode())


def test_a_role_grows() -> None:
    scenario = Scenario().running()
    response = scale(scenario, "worker", '{"cardinality":2}')
    assert (response.status, response.body) == (200, "")
    assert scenario.service.state == ServiceState.SCALING
    scenario.until(lambda: scenario.runs(4))
    assert scenario.nodes() == [3, 4]


@pytest.mark.parametrize(
    ("role", "body"),
    [
        ("worker", '{"cardinality":1}'),
        ("worker", '{"cardinality":4}'),
        ("worker", '{"cardinality":"2"}'),
        ("worker", '{"cardinality":true}'),
        ("worker", "{}"),
        ("nope", '{"cardinality":1}'),
    ],
)
def test_refused_scalings(role: str, body: str) -> None:
    scenario = Scenario().running()
    response = scale(scenario, role, body)
    assert (response.status, response.body) == (400, f"Error performing action on service 1 role {role}")
    assert scenario.nodes() == [3]


@pytest.mark.parametrize("body", ["", "two", "[2]"])
def test_a_cardinality_that_is_no_json_object(body: str) -> None:
    assert scale(Scenario().running(), "worker", body).status == 500


def test_scaling_by_a_vm_without_service_or_without_oneflow() -> None:
    scenario = Scenario().running()
    assert scale(scenario, "worker", '{"cardinality":2}', by=0).body == "Empty or invalid SERVICE_ID"
    scenario.cloud.oneflow.available = False
    assert scale(scenario, "worker", '{"cardinality":2}').status == 404
