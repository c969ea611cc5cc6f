# SPDX-License-Identifier: GPL-3.0-or-later
"""What an administrator changes in OneGate's configuration, and the errors of an older version."""

from __future__ import annotations

import pytest

from tests.opennebula import onegate
from tests.opennebula.messages import Request, Response
from tests.opennebula.onegate_settings import SHIPPED_PERMISSIONS, OneGateSettings
from tests.unit.opennebula.scenario import Scenario

REQUESTS = {
    "vm.show": ("GET", "/vm"),
    "vm.show_by_id": ("GET", "/vms/1"),
    "vm.update": ("PUT", "/vm"),
    "vm.update_by_id": ("PUT", "/vms/1"),
    "vm.action_by_id": ("POST", "/vms/1/action"),
    "service.show": ("GET", "/service"),
    "service.change_cardinality": ("PUT", "/service/role/worker"),
    "vrouter.show": ("GET", "/vrouter"),
    "vnet.show_by_id": ("GET", "/vnet/0"),
}


@pytest.fixture
def cloud() -> Scenario:
    return Scenario().running()


def ask(cloud: Scenario, permission: str) -> Response:
    method, path = REQUESTS[permission]
    return cloud.gate_request(method, path, 2)


def test_every_permission_has_a_request() -> None:
    names = {f"{resource}.{action}" for resource, actions in SHIPPED_PERMISSIONS.items() for action in actions}
    assert names == set(REQUESTS)


@pytest.mark.parametrize("denied", REQUESTS)
def test_one_permission_off_and_the_others_on(cloud: Scenario, denied: str) -> None:
    resource, action = denied.split(".")
    cloud.cloud.onegate.change({"denied": [denied]})
    for permission in REQUESTS:
        response = ask(cloud, permission)
        if permission == denied:
            assert (response.status, response.body) == (
                403,
                f"Action ({action}) on resource ({resource}) not supported",
            )
        else:
            assert response.status != 403
    cloud.cloud.onegate.change({"denied": []})
    assert ask(cloud, denied).status != 403


def test_a_permission_is_looked_at_before_the_token(cloud: Scenario) -> None:
    cloud.cloud.onegate.change({"denied": ["vm.show"]})
    assert onegate.respond(cloud.cloud, Request("GET", "/vm")).status == 403
    assert onegate.respond(cloud.cloud, Request("GET", "/service")).status == 401


def test_other_protected_attributes(cloud: Scenario) -> None:
    cloud.cloud.onegate.change({"restricted_attributes": ["SECRET"]})
    assert cloud.put("/vm", 3, "SECRET=1").body == "Attribute (SECRET) cannot be modified"
    assert cloud.put("/vm", 3, "SCHED_REQUIREMENTS=1").status == 200


def test_a_reboot_can_be_allowed_and_another_action_forbidden(cloud: Scenario) -> None:
    cloud.cloud.onegate.change({"restricted_actions": ["terminate"]})
    answers = [
        cloud.gate_request("POST", "/vms/3/action", 2, f'{{"action":{{"perform":"{name}"}}}}'.encode()).status
        for name in ("reboot", "terminate")
    ]
    assert answers == [204, 403]


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"denied": ["vm.fly"]}, "no permission vm.fly; there are service.change_cardinality, "),
        ({"x": 1}, "no setting x"),
    ],
)
def test_settings_that_there_are_not(wanted: dict, complaint: str) -> None:
    settings = OneGateSettings()
    with pytest.raises(ValueError, match=complaint):
        settings.change({"shows_causes": True, **wanted})
    assert settings == OneGateSettings()


def test_causes_of_an_older_server(cloud: Scenario) -> None:
    cloud.cloud.onegate.change({"shows_causes": True})
    assert cloud.put("/vm", 3, "A=[X=1").body.startswith("[one.vm.update] Parse error: syntax error, unexpected $end")
    assert cloud.put("/vm", 3, "A=x\x01y").body.startswith("Call XML not a proper XML-RPC call.")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/vrouter", "Empty or invalid VROUTER_ID"),
        ("/vnet/0", "Virtual networks information can only be retrieved from Virtual Routers."),
        ("/vnet/x", "Invalid id format (ID: x). ID must be an integer."),
    ],
)
def test_what_only_virtual_routers_may_ask(cloud: Scenario, path: str, text: str) -> None:
    response = cloud.get(path, 2)
    assert (response.status, response.body) == (400, text)
