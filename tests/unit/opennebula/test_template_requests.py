# SPDX-License-Identifier: GPL-3.0-or-later
"""What OneFlow's REST interface does to service templates, also to those in the 6.x form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.opennebula.old_templates import contents, converted, is_old
from tests.unit.opennebula.scenario import Scenario, service_template

ROLE = {"name": "w", "type": "vm", "template_id": 0, "cardinality": 1}


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


def create(scenario: Scenario, template: dict[str, Any]) -> dict[str, Any]:
    response = scenario.flow_request("POST", "/service_template", template)
    assert response.status == 201, response
    return json.loads(response.body)["DOCUMENT"]


def act(scenario: Scenario, template_id: str, perform: str, **parameters: Any) -> tuple[int, Any]:
    action = {"action": {"perform": perform, "params": parameters}}
    response = scenario.flow_request("POST", f"/service_template/{template_id}/action", action)
    return response.status, json.loads(response.body) if response.body.startswith("{") else response.body


def shown(scenario: Scenario, template_id: str) -> dict[str, Any]:
    return json.loads(scenario.flow_request("GET", f"/service_template/{template_id}").body)["DOCUMENT"]


def test_replacing_keeps_the_registration_time(scenario: Scenario) -> None:
    created = create(scenario, {"name": "a", "roles": [ROLE], "note": "old"})
    path = f"/service_template/{created['ID']}"
    response = scenario.flow_request("PUT", path, {"name": "b", "roles": [{**ROLE, "cardinality": 2}]})
    body = json.loads(response.body)["DOCUMENT"]["TEMPLATE"]["BODY"]
    assert response.status == 200
    assert (body["name"], body["roles"][0]["cardinality"], "note" in body) == ("b", 2, False)
    assert body["registration_time"] == created["TEMPLATE"]["BODY"]["registration_time"]


def test_refused_replacements(scenario: Scenario) -> None:
    path = f"/service_template/{create(scenario, {'name': 'a', 'roles': [ROLE]})['ID']}"
    refused = scenario.flow_request("PUT", path, {"name": "a", "roles": [ROLE], "registration_time": 1})
    text = "Immutable value: `service_template/registration_time` can not be changed"
    assert (refused.status, refused.body) == (500, text)
    assert scenario.flow_request("PUT", path, {"name": "a"}).status == 400
    assert scenario.flow_request("PUT", "/service_template/99", {"name": "a", "roles": []}).status == 404


def test_actions(scenario: Scenario) -> None:
    number = create(scenario, {"name": "a", "roles": [ROLE], "note": "kept"})["ID"]
    update = {"template_json": json.dumps({"description": "d"}), "append": True}
    assert act(scenario, number, "update", **update) == (204, "")
    assert act(scenario, number, "rename", name="b") == (204, "")
    assert act(scenario, number, "chmod", octet="644") == (204, "")
    document = shown(scenario, number)
    assert (document["NAME"], document["PERMISSIONS"]["OTHER_U"]) == ("b", "1")
    assert (document["TEMPLATE"]["BODY"]["description"], document["TEMPLATE"]["BODY"]["note"]) == ("d", "kept")
    assert act(scenario, number, "update", template_json='{"name": "x"}')[0] == 400


def test_actions_whose_failure_oneflow_does_not_tell(scenario: Scenario) -> None:
    number = create(scenario, {"name": "a", "roles": [ROLE]})["ID"]
    before = shown(scenario, number)
    assert act(scenario, number, "chown", owner_id=0) == (204, "")
    assert act(scenario, "99", "rename", name="b") == (204, "")
    assert act(scenario, number, "fly") == (200, "")
    assert shown(scenario, number) == before


@pytest.mark.parametrize(("recursive", "copies"), [("none", 0), ("templates", 1), (None, 1)])
def test_cloning(scenario: Scenario, recursive: str | None, copies: int) -> None:
    number = create(scenario, {"name": "a", "roles": [ROLE, {**ROLE, "name": "v"}]})["ID"]
    before = len(scenario.cloud.vm_templates)
    status, clone = act(scenario, number, "clone", name="b", recursive=recursive)
    assert (status, clone["DOCUMENT"]["NAME"]) == (201, "b")
    assert len(scenario.cloud.vm_templates) == before + copies
    ids = {role["template_id"] for role in clone["DOCUMENT"]["TEMPLATE"]["BODY"]["roles"]}
    assert ids == ({before} if copies else {0})


@pytest.mark.parametrize(
    ("body", "left"), [(None, [0, 1]), ({"delete_type": "none"}, [0, 1]), ({"delete_type": "all"}, [0])]
)
def test_deleting(scenario: Scenario, body: Any, left: list[int]) -> None:
    vm_template = scenario.cloud.create_vm_template({"CPU": "1"})
    number = create(scenario, {"name": "a", "roles": [{**ROLE, "template_id": vm_template}]})["ID"]
    assert scenario.flow_request("DELETE", f"/service_template/{number}", body).status == 204
    assert scenario.flow_request("GET", f"/service_template/{number}").status == 404
    assert list(scenario.cloud.vm_templates) == left


# --- instances ---


@pytest.mark.parametrize(
    ("networks", "values", "status", "text"),
    [
        ({"A": "M|network|a| |id:1"}, None, 201, ""),
        ({"A": "M|network|a"}, None, 400, "Wrong networks format"),
        ({"A": "M|network|a| |id:1"}, [], 400, "Every network key must have its value defined at networks_value"),
        ({"A": "M|network|a| |id:1"}, ["A"], 400, "Wrong networks_values format"),
        ({"A": "M|network|a| |template_id:1"}, None, 400, "makes no network of its own: A needs an id"),
    ],
)
def test_networks_of_an_instance(
    scenario: Scenario, networks: dict[str, str], values: list[Any] | None, status: int, text: str
) -> None:
    number = create(scenario, {"name": "a", "roles": [ROLE], "networks": networks})["ID"]
    merge = {} if values is None else {"networks_values": values}
    found, answer = act(scenario, number, "instantiate", merge_template=merge)
    assert found == status
    if status == 201:
        assert answer["DOCUMENT"]["TEMPLATE"]["BODY"]["networks_values"] == [{"A": {"id": "1"}}]
    else:
        assert text in answer


def test_an_instance_that_is_invalid_is_500_not_400(scenario: Scenario) -> None:
    number = create(scenario, service_template(0))["ID"]
    merge = {
        "roles": [{"name": "worker", "cardinality": 9}],
        "networks_values": [{"Management": {"id": "0"}, "Compute": {"id": "1"}}],
    }
    assert act(scenario, number, "instantiate", merge_template=merge) == (
        500,
        "Role 'worker' 'cardinality' must be lower than or equal to 'max_vms'",
    )


# --- the 6.x form ---

OLD = {
    "name": "old",
    "custom_attrs": {"USERS": "M|text|u"},
    "custom_attrs_values": {"USERS": "demo"},
    "roles": [
        {
            "name": "w",
            "cardinality": 1,
            "vm_template": 3,
            "vm_template_contents": 'NIC = [ NAME="_NIC0", NETWORK_ID="$Compute" ]\nNIC=[NETWORK_ID="1"]\nA="x=y"\nB=1',
            "custom_attrs": {"SIZE": "O|text|s"},
        }
    ],
}


def test_an_old_template_is_converted(scenario: Scenario) -> None:
    body = create(scenario, OLD)["TEMPLATE"]["BODY"]
    assert (body["user_inputs"], body["user_inputs_values"]) == ({"USERS": "M|text|u"}, {"USERS": "demo"})
    assert body["roles"] == [
        {
            "name": "w",
            "cardinality": 1,
            "template_id": 3,
            "type": "vm",
            "user_inputs": {"SIZE": "O|text|s"},
            "template_contents": {
                "NIC": [{"NAME": "_NIC0", "NETWORK_ID": "$Compute"}, {"NETWORK_ID": "1"}],
                "A": "x=y",
                "B": "1",
            },
        }
    ]
    assert "custom_attrs" not in body
    assert "vm_template" in OLD["roles"][0], "the given template is not changed"


def test_one_new_role_and_nothing_is_converted(scenario: Scenario) -> None:
    mixed = {**OLD, "roles": [*OLD["roles"], ROLE]}
    assert not is_old(mixed)
    response = scenario.flow_request("POST", "/service_template", mixed)
    assert (response.status, response.body) == (400, "KEY: 'type' is required;")
    assert converted(OLD)["roles"][0]["type"] == "vm"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("no assignment", {}),
        ('A="with "quotes""', {"A": "with quotes"}),
        ('CONTEXT=[A="1, 2", B="3"]', {"CONTEXT": [{"A": "1", "2": None, "B": "3"}]}),
        ("A=1\nA=2\nA=3", {"A": ["1", "2", "3"]}),
    ],
)
def test_the_naive_reader_of_old_contents(text: str, found: dict[str, Any]) -> None:
    assert contents(text) == found


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ({}, "needs to define either 'start_time' or 'recurrence'"),
        ({"start_time": "1", "recurrence": "* * * * *"}, "must define 'start_time' or 'recurrence', but not both"),
    ],
)
def test_scheduled_policies(scenario: Scenario, policy: dict[str, str], text: str) -> None:
    role = {**ROLE, "min_vms": 1, "max_vms": 2, "scheduled_policies": [{"type": "CHANGE", "adjust": 1, **policy}]}
    response = scenario.flow_request("POST", "/service_template", {"name": "a", "roles": [role]})
    assert (response.status, response.body) == (400, f"Role 'w', scheduled policy #0 {text}")
