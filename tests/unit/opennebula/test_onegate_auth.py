# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may speak to OneGate."""

from __future__ import annotations

import pytest

from tests.opennebula import onegate
from tests.opennebula.messages import Request, Response
from tests.opennebula.states import VmState
from tests.unit.opennebula.scenario import Scenario, sample


@pytest.fixture(scope="module")
def cloud() -> Scenario:
    scenario = Scenario().running()
    template = scenario.cloud.create_vm_template({"CONTEXT": {"NETWORK": "YES"}})
    scenario.cloud.create_vm(template, "without token")
    return scenario


def ask(cloud: Scenario, headers: dict[str, str], path: str = "/vm", method: str = "GET", **query: str) -> Response:
    return onegate.respond(cloud.cloud, Request(method, path, query, headers))


def token(cloud: Scenario, vm_id: int) -> str:
    value = cloud.cloud.vms.get(vm_id).token
    assert value is not None
    return value


REFUSED = {
    "no headers": {},
    "no VMID": {"x-onegate-token": "TOKEN 2"},
    "no token": {"x-onegate-vmid": "2"},
    "garbage": {"x-onegate-token": "bm90IGEgdG9rZW4gb2YgYW55IFZNIQ==", "x-onegate-vmid": "2"},
    "empty": {"x-onegate-token": "", "x-onegate-vmid": "2"},
    "token of another VM": {"x-onegate-token": "TOKEN 1", "x-onegate-vmid": "2"},
    "unknown VMID": {"x-onegate-token": "TOKEN 2", "x-onegate-vmid": "999"},
    "VMID no number": {"x-onegate-token": "TOKEN 2", "x-onegate-vmid": "abc"},
    "VM without TOKEN=YES": {"x-onegate-token": "TOKEN 2", "x-onegate-vmid": "4"},
}

PATHS = [("GET", "/"), ("GET", "/vm"), ("PUT", "/vm"), ("GET", "/vms/1"), ("PUT", "/vms/1"), ("GET", "/service")]


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("case", REFUSED)
def test_refused_without_a_cause(cloud: Scenario, case: str, method: str, path: str) -> None:
    headers = {
        name: token(cloud, int(value.split()[1])) if value.startswith("TOKEN ") else value
        for name, value in REFUSED[case].items()
    }
    assert ask(cloud, headers, path, method) == Response(401, "Not authorized")


def test_answer_is_the_recorded_one() -> None:
    recorded = {(case["status"], case["response"]) for case in sample("onegate-auth.json")}
    assert recorded == {(401, "Not authorized")}


def test_a_vm_without_token_has_no_creator_and_no_endpoint(cloud: Scenario) -> None:
    vm = cloud.cloud.vms.get(4)
    assert vm.token is None
    assert "CREATED_BY" not in vm.template
    assert "ONEGATE_ENDPOINT" not in vm.template["CONTEXT"]


def test_tokens_are_24_characters_and_different(cloud: Scenario) -> None:
    tokens = {token(cloud, vm_id) for vm_id in (0, 1, 2, 3)}
    assert len(tokens) == 4
    assert {len(value) for value in tokens} == {24}


def test_the_id_may_come_as_a_parameter(cloud: Scenario) -> None:
    response = ask(cloud, {"x-onegate-token": token(cloud, 0)}, id="0")
    assert response.status == 200
    assert onegate.parsed(response)["VM"]["ID"] == "0"


def test_a_token_stays_valid_after_the_vm_is_done() -> None:
    scenario = Scenario().grown(2)
    scenario.terminate(4)
    scenario.until(lambda: scenario.vm_state(4) == VmState.DONE)
    assert scenario.get("/vm", 4).status == 200
    scenario.publish(4, "X=1")
    assert onegate.parsed(scenario.get("/vm", 4))["VM"]["USER_TEMPLATE"]["X"] == "1"


def test_root_needs_a_token_and_names_the_two_resources(cloud: Scenario) -> None:
    response = cloud.get("/", 1)
    assert response == Response(200, '{"vm_info":"http://gate:5030/vm","service_info":"http://gate:5030/service"}')
