# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's OneGate client orders workers and ends one: what the simulated OneFlow makes of it."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import onegate as onegate_code
from ansible_collections.onehpc.ondemand.plugins.module_utils.http_exchange import Answer
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from tests.opennebula import onegate
from tests.opennebula.messages import Request
from tests.opennebula.states import ServiceState
from tests.unit.opennebula.scenario import Scenario

PORTAL_ID = 2


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(max_vms=4, cooldown=20).running()


@pytest.fixture
def portal(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> OneGateClient:
    """The portal's client; each request is answered in this thread, which holds the cloud's lock."""

    def answered(method: str, _endpoint: str, path: str, headers: dict, body: bytes | None, _deadline: object):
        lower = {name.lower(): value for name, value in headers.items()}
        request = Request(method, path, {}, {**lower, "host": "gate:5030"}, body or b"")
        response = onegate.respond(scenario.cloud, request)
        return Answer(response.status, {}, response.body.encode())

    monkeypatch.setattr(onegate_code, "exchange", answered)
    return OneGateClient("http://gate:5030", scenario.cloud.vms.get(PORTAL_ID).token, PORTAL_ID)


def ready(scenario: Scenario, *vm_ids: int) -> None:
    for vm_id in vm_ids:
        scenario.until(lambda vm_id=vm_id: scenario.runs(vm_id))
        scenario.publish(vm_id, "READY=YES")


def test_several_workers_in_one_step(scenario: Scenario, portal: OneGateClient) -> None:
    portal.put_cardinality("worker", 4)
    assert portal.get_service().role("worker").cardinality == 4
    ready(scenario, 4, 5, 6)
    scenario.until_state(ServiceState.RUNNING)
    assert scenario.nodes() == [3, 4, 5, 6]


def test_not_more_than_the_maximum_and_not_while_something_is_scaled(scenario: Scenario, portal: OneGateClient) -> None:
    with pytest.raises(OneGateError, match="answered 400"):
        portal.put_cardinality("worker", 5)
    portal.put_cardinality("worker", 3)
    with pytest.raises(OneGateError, match="answered 400"):
        portal.put_cardinality("worker", 4)
    assert portal.get_service().role("worker").cardinality == 3


def test_one_that_is_not_the_oldest_goes_without_a_cooldown(scenario: Scenario, portal: OneGateClient) -> None:
    portal.put_cardinality("worker", 3)
    ready(scenario, 4, 5)
    scenario.until_state(ServiceState.RUNNING)
    portal.terminate_vm(4)
    assert not portal.get_vm_by_id(4).is_running
    scenario.until(lambda: scenario.nodes() == [3, 5])
    assert scenario.service.state == ServiceState.RUNNING
    assert portal.get_service().role("worker").cardinality == 2


def test_the_end_of_a_worker_that_never_comes_up_lets_the_service_go_on(
    scenario: Scenario, portal: OneGateClient
) -> None:
    portal.put_cardinality("worker", 2)
    scenario.until(lambda: scenario.runs(4))
    scenario.advance(901)
    assert scenario.service.state == ServiceState.SCALING
    portal.terminate_vm(4)
    scenario.until_state(ServiceState.COOLDOWN)
    scenario.until_state(ServiceState.RUNNING)
    assert scenario.nodes() == [3]
    assert portal.get_service().role("worker").cardinality == 1
