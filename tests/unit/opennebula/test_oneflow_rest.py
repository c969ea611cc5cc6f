# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow over REST: authentication, templates, instances."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.opennebula import oneflow_rest
from tests.opennebula.clock import VirtualClock
from tests.opennebula.cloud import Cloud
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.messages import Request
from tests.opennebula.service_templates import ValidationError, deep_merge, validate
from tests.unit.opennebula.scenario import Scenario, sample, service_template

RECORDED = sample("oneflow-create.json")
OLD_FORM = "old_6x_keys"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario().running()


@pytest.mark.parametrize(
    ("authorization", "text"),
    [
        (None, "A username and password must be provided"),
        ("Bearer x", "A username and password must be provided"),
        ("Basic !", "Invalid credentials"),
        ("Basic Y2x1c3Rlcjp3cm9uZw==", "Invalid credentials"),
    ],
)
def test_credentials(scenario: Scenario, authorization: str | None, text: str) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    response = oneflow_rest.respond(scenario.cloud, "pass", Request("GET", "/service", {}, headers))
    assert (response.status, response.body, response.content_type) == (401, text, "text/html;charset=utf-8")


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    copy = json.loads(json.dumps(document))
    for name in ("registration_time", "start_time"):
        copy["DOCUMENT"]["TEMPLATE"]["BODY"].pop(name, None)
    copy["DOCUMENT"].pop("ID")
    return copy


@pytest.mark.parametrize(
    "case",
    [case for case in RECORDED if case["method"] == "POST" and case["case"] != OLD_FORM],
    ids=lambda c: c["case"],
)
def test_recorded_request(case: dict[str, Any]) -> None:
    scenario = Scenario()
    path = case["path"]
    if case["case"] == "instantiate":
        created = next(other for other in RECORDED if other["case"] == "create")
        answer = scenario.flow_request("POST", "/service_template", created["request"])
        path = f"/service_template/{json.loads(answer.body)['DOCUMENT']['ID']}/action"
    response = scenario.flow_request("POST", path, case["request"])
    assert (response.status, response.content_type) == (case["status"], case["headers"]["Content-Type"])
    if case["status"] == 201:
        assert without_times(json.loads(response.body)) == without_times(case["response"])
    else:
        assert response.body == case["response"]


def test_pools(scenario: Scenario) -> None:
    empty = Cloud(VirtualClock(), NullHypervisor())
    headers = {"authorization": "Basic Y2x1c3RlcjpwYXNz"}
    for path in ("/service", "/service_template"):
        response = oneflow_rest.respond(empty, "pass", Request("GET", path, {}, headers))
        assert response.body == '{"DOCUMENT_POOL":{}}'
        documents = json.loads(scenario.flow_request("GET", path).body)["DOCUMENT_POOL"]["DOCUMENT"]
        assert [document["NAME"] for document in documents] == ["slurm"]


def test_templates_and_services_share_one_counter(scenario: Scenario) -> None:
    assert list(scenario.cloud.oneflow.templates) == [0]
    assert list(scenario.cloud.oneflow.services) == [1]
    assert scenario.flow_request("GET", "/service/0").status == 404
    assert scenario.flow_request("GET", "/service_template/1").status == 404
    assert scenario.flow_request("GET", "/service_template/0").status == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"'])
def test_bodies_that_are_no_object(scenario: Scenario, body: bytes) -> None:
    headers = {"authorization": "Basic Y2x1c3RlcjpwYXNz"}
    request = Request("POST", "/service_template", {}, headers, body)
    assert oneflow_rest.respond(scenario.cloud, "pass", request).status == 400


def template(**role: Any) -> dict[str, Any]:
    return {"name": "t", "roles": [{"name": "w", "type": "vm", "template_id": 0, "min_vms": 1, "max_vms": 3, **role}]}


CHANGES = [case for case in sample("oneflow-template-validation.json") if "template_change" in case]


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: case["what"])
def test_recorded_validation(case: dict[str, Any]) -> None:
    change = {"cardinality": 1, **case["template_change"]}
    if case["status"] == 201:
        validate(template(**change))
        return
    with pytest.raises(ValidationError) as caught:
        validate(template(**change))
    assert str(caught.value) == case["response"]


REFUSALS = [
    ({"name": "t"}, "KEY: 'roles' is required;"),
    ({"roles": []}, "KEY: 'name' is required;"),
    ({"name": "t", "roles": {}}, "KEY: 'roles' must be an Array;"),
    ({"name": "t", "roles": [], "deployment": "fast"}, "KEY: 'deployment' must be one of none, straight;"),
    ({"name": "t", "roles": [], "ready_status_gate": "yes"}, "KEY: 'ready_status_gate' is not allowed;"),
    (template(cardinality="two"), "KEY: 'cardinality' must be an Integer;"),
    (template(cardinality=-1), "KEY: 'cardinality' must be greater than or equal to 0;"),
    (template(cardinality=1, template_id=None), "KEY: 'template_id' is required;"),
    (template(cardinality=1, type="k8s"), 'Unsupported role type "k8s"'),
    (
        template(
            cardinality=1, max_vms=None, elasticity_policies=[{"type": "CHANGE", "adjust": 1, "expression": "A>0"}]
        ),
        "Role 'w' with  'elasticity_policies' or 'scheduled_policies'must define both 'min_vms' and 'max_vms'",
    ),
    (
        template(cardinality=1, elasticity_policies=[{"type": "SHIFT", "adjust": 1, "expression": "A>0"}]),
        "KEY: 'type' must be one of CHANGE, CARDINALITY, PERCENTAGE_CHANGE;",
    ),
]


@pytest.mark.parametrize(("value", "text"), REFUSALS, ids=[text for _, text in REFUSALS])
def test_refused_templates(value: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        validate(value)
    assert str(caught.value) == text


def test_two_roles_of_one_name() -> None:
    twice = template(cardinality=1)
    twice["roles"].append(dict(twice["roles"][0]))
    with pytest.raises(ValidationError, match="Role name 'w' is repeated"):
        validate(twice)


def test_validation_fills_defaults_converts_numbers_and_keeps_unknown_keys() -> None:
    given = template(cardinality="1", cooldown="60", note="kept")
    checked = validate(given)
    assert (checked["deployment"], checked["description"]) == ("none", "")
    role = checked["roles"][0]
    assert (role["cardinality"], role["cooldown"], role["note"]) == (1, 60, "kept")
    assert given["roles"][0]["cardinality"] == "1", "the given template is not changed"


def test_an_input_without_a_value_is_refused(scenario: Scenario) -> None:
    wanted = {**service_template(0), "user_inputs": {"ONEAPP_A": "O|text|a", "ONEAPP_B": "O|text|b"}}
    created = json.loads(scenario.flow_request("POST", "/service_template", wanted).body)["DOCUMENT"]["ID"]
    merge = {"user_inputs_values": {"ONEAPP_A": ""}}
    action = {"action": {"perform": "instantiate", "params": {"merge_template": merge}}}
    response = scenario.flow_request("POST", f"/service_template/{created}/action", action)
    assert response.status == 400
    assert "ONEAPP_B" in response.body
    assert "ONEAPP_A" not in response.body


def test_roles_of_the_merged_template_are_found_by_name(scenario: Scenario) -> None:
    merge = {"name": "other", "roles": [{"name": "worker", "cardinality": 2}]}
    service = scenario.cloud.oneflow.instantiate(0, merge)
    assert [role["cardinality"] for role in service.roles] == [1, 1, 2]
    with pytest.raises(ValidationError, match="lower than or equal to 'max_vms'"):
        scenario.cloud.oneflow.instantiate(0, {"roles": [{"name": "worker", "cardinality": 9}]})


def test_deep_merge() -> None:
    base = {"a": {"x": 1, "y": 2}, "list": [{"p": 1}, {"p": 2}], "plain": [1, 2]}
    extra = {"a": {"y": 3}, "list": [{"q": 5}], "plain": [9], "new": 1}
    assert deep_merge(base, extra) == {
        "a": {"x": 1, "y": 3},
        "list": [{"p": 1, "q": 5}, {"p": 2}],
        "plain": [9],
        "new": 1,
    }
    assert base["a"] == {"x": 1, "y": 2}
