# SPDX-License-Identifier: GPL-3.0-or-later
"""What OneFlow's REST interface does to services: updates, scaling, roles and their VMs, small changes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.opennebula.states import RoleState, ServiceState, VmState
from tests.unit.opennebula.scenario import GROW, NETWORKS, Scenario, service_template

NO_RIGHT = "[one.document.chown] User [2] : Not authorized to perform ADMIN DOCUMENT [1]."


def body_of(scenario: Scenario) -> dict[str, Any]:
    return copy.deepcopy(scenario.service.body)


def ask(scenario: Scenario, method: str, path: str, value: Any = None) -> tuple[int, str]:
    response = scenario.flow_request(method, f"/service/{scenario.service.id}{path}", value)
    scenario.clock.settle()
    return response.status, response.body


def act(scenario: Scenario, perform: str, path: str = "/action", **parameters: Any) -> tuple[int, str]:
    return ask(scenario, "POST", path, {"action": {"perform": perform, "params": parameters}})


# --- scaling ---


@pytest.mark.parametrize("force", [False, "false"])
def test_scaling(force: object) -> None:
    scenario = Scenario().running()
    wanted = {"role_name": "worker", "cardinality": 2, "force": force}
    assert ask(scenario, "POST", "/scale", wanted) == (204, "")
    assert (scenario.service.state, scenario.nodes()) == (ServiceState.SCALING, [3, 4])


def test_scaling_by_force_leaves_the_bounds() -> None:
    scenario = Scenario().running()
    wanted = {"role_name": "worker", "cardinality": 5, "force": True}
    assert ask(scenario, "POST", "/scale", wanted) == (204, "")
    assert len(scenario.nodes()) == 5


@pytest.mark.parametrize("force", [{}, {"force": None}, {"force": "yes"}])
def test_scaling_without_force_is_an_exception(force: dict[str, Any]) -> None:
    scenario = Scenario().running()
    status, body = ask(scenario, "POST", "/scale", {"role_name": "worker", "cardinality": 2, **force})
    assert status == 500
    assert set(json.loads(body)) == {"message", "reason"}
    assert scenario.nodes() == [3]
    scenario.terminate(3)
    scenario.advance(5)
    assert scenario.nodes() == [3], "the watchdog has let go of the service before the exception"


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({"cardinality": 0}, "Can't scale service 1: Minimum cardinality is 1"),
        ({}, "Can't scale service 1: Minimum cardinality is 1"),
        ({"cardinality": "9 or so"}, "Can't scale service 1: Maximum cardinality is 3"),
        ({"role_name": "nope", "cardinality": 2}, "Role nope not found"),
        ({"cardinality": 1}, "Cardinality of worker is already at 1"),
    ],
)
def test_refused_scaling(wanted: dict[str, Any], text: str) -> None:
    scenario = Scenario().running()
    assert ask(scenario, "POST", "/scale", {"role_name": "worker", "force": False, **wanted}) == (500, text)
    assert scenario.cloud.oneflow.server_log.lines[-1].text == text


def test_growth_without_an_address_fails_at_once_and_says_why() -> None:
    scenario = Scenario().running()
    scenario.cloud.networks[1].size = 0
    status, text = ask(scenario, "POST", "/scale", {"role_name": "worker", "cardinality": 2, "force": False})
    assert status == 500
    assert text.startswith("Error deploying role worker: Error instantiating VM Template 0 in Role worker: ")
    assert (scenario.service.state, scenario.worker["cardinality"]) == (ServiceState.FAILED_SCALING, 2)


# --- updates ---


def test_an_update_changes_policies_and_bounds_while_it_runs() -> None:
    scenario = Scenario().running()
    wanted = body_of(scenario)
    wanted["roles"][2].update(max_vms=9, elasticity_policies=[{**GROW, "expression": "A > 5"}])
    assert ask(scenario, "PUT", "", wanted) == (204, "")
    assert scenario.service.body == wanted
    scenario.publish(3, "A=6")
    scenario.until_state(ServiceState.SCALING, 15)


def test_what_an_update_leaves_out_of_a_role_is_filled_again() -> None:
    scenario = Scenario().running()
    wanted = body_of(scenario)
    del wanted["roles"][2]["on_hold"], wanted["roles"][2]["cooldown"]
    assert ask(scenario, "PUT", "", wanted) == (204, "")
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    assert (scenario.nodes(), scenario.worker["cooldown"]) == ([3, 4], 300)


def test_an_update_may_append() -> None:
    scenario = Scenario().running()
    before = body_of(scenario)
    appended = {"append": True, "template": json.dumps({"description": "new"})}
    assert ask(scenario, "PUT", "", appended) == (204, "")
    assert scenario.service.body == {**before, "description": "new"}


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (["state"], 4, "Immutable value: `service/state` can not be changed"),
        (["name"], "other", "Immutable value: `service/name` can not be changed"),
        (["roles", 2, "cardinality"], 2, "Immutable value: `role/cardinality` can not be changed"),
        (["roles", 2, "nodes"], [], "Immutable value: `role/nodes` can not be changed"),
        (["roles", 2, "template_id"], 7, "Immutable value: `role/template_id` can not be changed"),
        (["roles", 2, "name"], "other", "To change `service/name` use rename operation"),
    ],
)
def test_what_an_update_may_not_change(path: list[Any], value: Any, text: str) -> None:
    scenario = Scenario().running()
    wanted = body_of(scenario)
    place: Any = wanted
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert ask(scenario, "PUT", "", wanted) == (500, text)


@pytest.mark.parametrize(
    ("wanted", "status", "text"),
    [
        ({"append": True}, 400, "Missing template to append"),
        ({"append": True, "template": '{"name": "x"}'}, 500, "Immutable value: `service/name` can not be changed"),
        ({"name": "x"}, 400, "KEY: 'roles' is required;"),
        ({"name": "slurm", "roles": []}, 500, "Immutable value: `service/roles size` can not be changed"),
    ],
)
def test_refused_updates(wanted: dict[str, Any], status: int, text: str) -> None:
    assert ask(Scenario().running(), "PUT", "", wanted) == (status, text)


def test_no_update_in_a_transient_state() -> None:
    scenario = Scenario().running()
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 2)
    assert ask(scenario, "PUT", "", body_of(scenario)) == (500, "Service cannot be updated in state: SCALING")


# --- actions ---


def test_small_changes() -> None:
    scenario = Scenario().running()
    assert act(scenario, "rename", name="other") == (204, "")
    assert act(scenario, "chmod", octet="640") == (204, "")
    shown = json.loads(ask(scenario, "GET", "")[1])["DOCUMENT"]
    assert (shown["NAME"], shown["TEMPLATE"]["BODY"]["name"]) == ("other", "slurm")
    assert [name for name, value in shown["PERMISSIONS"].items() if value == "1"] == ["OWNER_U", "OWNER_M", "GROUP_U"]


@pytest.mark.parametrize(
    ("perform", "parameters", "status", "text"),
    [
        ("rename", {}, 500, "Action rename: You have to specify a name"),
        ("chmod", {}, 500, "Action chmod: You have to specify an OCTET"),
        ("chown", {}, 500, "Action chown: You have to specify a UID"),
        ("chgrp", {}, 500, "Action chgrp: You have to specify a GID"),
        (
            "chown",
            {"owner_id": 0},
            401,
            "[one.document.chown] User [2] : Not authorized to perform ADMIN DOCUMENT [1].",
        ),
        ("deploy", {}, 500, "Action deploy not supported"),
        ("release", {}, 500, "Service has no roles in HOLD"),
        ("recover", {}, 500, "Service cannot be recovered in state: RUNNING"),
    ],
)
def test_refused_actions(perform: str, parameters: dict[str, Any], status: int, text: str) -> None:
    assert act(Scenario().running(), perform, **parameters) == (status, text)


def test_requests_that_ruby_stumbles_over() -> None:
    scenario = Scenario().running()
    for path in ("/action", "/scale", "/role/worker/action", "/role_action"):
        response = scenario.flow_request("POST", f"/service/1{path}", [])
        assert response.status == 500, path
        assert set(json.loads(response.body)) == {"message", "reason"}


def test_what_there_is_not() -> None:
    scenario = Scenario().running()
    for method, path in (("PUT", "/service/1/role/worker"), ("GET", "/nothing"), ("POST", "/service/1")):
        response = scenario.flow_request(method, path, {})
        assert (response.status, response.body) == (404, "<h1>Not Found</h1>")
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/action")):
        response = scenario.flow_request(method, f"/service/77{path}", {"action": {"perform": "recover"}})
        assert (response.status, response.body) == (404, "[one.document.info] Error getting document [77].")
    assert scenario.flow_request("POST", "/service_pool/purge_done").status == 204
    assert list(scenario.cloud.oneflow.services) == [1]


# --- all VMs of a role ---


def test_an_action_on_a_role_takes_one_vm_a_minute() -> None:
    scenario = Scenario().grown(3)
    assert act(scenario, "terminate", "/role/worker/action") == (204, "")
    scenario.advance(5)
    assert [scenario.vm_state(vm_id) for vm_id in (3, 4, 5)] == [VmState.DONE, VmState.ACTIVE, VmState.ACTIVE]
    scenario.advance(60)
    assert [scenario.vm_state(vm_id) for vm_id in (3, 4, 5)] == [VmState.DONE, VmState.DONE, VmState.ACTIVE]


def test_an_action_on_a_role_may_take_more_at_a_time() -> None:
    scenario = Scenario().grown(3)
    assert act(scenario, "poweroff", "/role/worker/action", number=2, period=30) == (204, "")
    scenario.advance(5)
    assert [scenario.vm_state(vm_id) for vm_id in (3, 4, 5)] == [VmState.POWEROFF, VmState.POWEROFF, VmState.ACTIVE]
    scenario.advance(30)
    assert scenario.vm_state(5) == VmState.POWEROFF
    assert act(scenario, "resume", "/role/worker/action", number=9) == (204, "")
    scenario.until_state(ServiceState.RUNNING, 5)


def test_an_action_on_the_service_takes_every_role() -> None:
    scenario = Scenario().running()
    assert act(scenario, "poweroff-hard", number=9) == (204, "")
    scenario.advance(5)
    assert [scenario.vm_state(vm_id) for vm_id in (1, 2, 3)] == [VmState.POWEROFF] * 3


def test_an_action_that_a_vm_cannot_do_is_no_error() -> None:
    scenario = Scenario().running()
    for perform in ("resume", "hold", "reboot", "undeploy", "abc"):
        assert act(scenario, perform, "/role/worker/action") == (204, "")
    scenario.advance(5)
    assert scenario.runs(3)


def test_an_action_on_a_role_that_there_is_not() -> None:
    assert act(Scenario().running(), "terminate", "/role/nope/action") == (500, "Role 'nope' not found")


# --- roles of a running service ---


def test_adding_and_removing_a_role() -> None:
    scenario = Scenario().running()
    role = {**scenario.template["roles"][2], "name": "worker_gpu", "elasticity_policies": []}
    assert act(scenario, "add_role", "/role_action", role=json.dumps(role)) == (204, "")
    assert (scenario.service.state, scenario.nodes("worker_gpu")) == (ServiceState.DEPLOYING, [4])
    scenario.publish(4, "READY=YES")
    assert scenario.service.state == ServiceState.RUNNING
    assert scenario.cloud.vms.get(4).template["NIC"][1]["NETWORK"] == "Compute"
    assert act(scenario, "remove_role", "/role_action", role="worker_gpu") == (204, "")
    scenario.until_state(ServiceState.RUNNING, 5)
    assert [item["name"] for item in scenario.service.roles] == ["storage", "portal", "worker"]
    assert scenario.vm_state(4) == VmState.DONE


@pytest.mark.parametrize(
    ("perform", "role", "status", "text"),
    [
        ("add_role", '{"name": "worker", "template_id": 0, "type": "vm"}', 500, "Role worker already exists"),
        ("add_role", '{"name": "a b", "template_id": 0, "type": "vm"}', 400, r"KEY: 'name' must match regexp /^\w+$/;"),
        ("remove_role", "nope", 500, "Role nope does not exist"),
        ("swap_role", "nope", 500, "Action swap_role not supported"),
    ],
)
def test_refused_changes_of_roles(perform: str, role: str, status: int, text: str) -> None:
    assert act(Scenario().running(), perform, "/role_action", role=role) == (status, text)


def test_roles_change_only_while_it_runs() -> None:
    scenario = Scenario()
    scenario.advance(5)
    text = "Cannot modify roles in state: DEPLOYING"
    assert act(scenario, "remove_role", "/role_action", role="worker") == (500, text)


# --- hold ---


def held(**more: Any) -> Scenario:
    scenario = Scenario().running()
    wanted = {**service_template(0), "on_hold": True, **more}
    template = scenario.cloud.oneflow.create_template(wanted)
    scenario.service = scenario.cloud.oneflow.instantiate(template, {"networks_values": NETWORKS})
    scenario.advance(60)
    return scenario


def test_a_service_on_hold_makes_its_vms_and_starts_none() -> None:
    scenario = held()
    assert scenario.service.state == ServiceState.HOLD
    assert [role["state"] for role in scenario.service.roles] == [RoleState.HOLD] * 3
    assert [scenario.vm_state(vm_id) for vm_id in (4, 5, 6)] == [VmState.HOLD] * 3


def test_releasing_it_starts_the_roles_in_their_order() -> None:
    scenario = held()
    assert act(scenario, "release") == (204, "")
    assert scenario.service.state == ServiceState.DEPLOYING
    for vm_id in (4, 5, 6):
        scenario.until(lambda vm_id=vm_id: scenario.runs(vm_id), 5)
        scenario.publish(vm_id, "READY=YES")
    assert scenario.service.state == ServiceState.RUNNING


def test_a_service_on_hold_can_be_deleted() -> None:
    scenario = held()
    assert ask(scenario, "DELETE", "") == (204, "")
    scenario.advance(30)
    assert list(scenario.cloud.oneflow.services) == [1]


# --- ends ---


def test_automatic_deletion_once_all_vms_are_gone() -> None:
    scenario = Scenario().running()
    wanted = {**service_template(0, gate=False), "automatic_deletion": True}
    for role in wanted["roles"]:
        role.update(min_vms=0)
        role.pop("elasticity_policies", None)
    template = scenario.cloud.oneflow.create_template(wanted)
    service = scenario.cloud.oneflow.instantiate(template, {"networks_values": NETWORKS})
    scenario.until(lambda: service.state == ServiceState.RUNNING, 30)
    for vm_id in (4, 5, 6):
        scenario.terminate(vm_id)
    scenario.advance(5)
    assert list(scenario.cloud.oneflow.services) == [1]


def test_shutdown_action_of_role_and_service() -> None:
    scenario = Scenario(obeys=False, shutdown_action="terminate-hard").grown(2)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 1)
    scenario.until(lambda: scenario.nodes() == [4], 5)
