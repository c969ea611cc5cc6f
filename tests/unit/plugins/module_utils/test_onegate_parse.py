# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded answers become the typed model; anything that is not complete is an error."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import ServiceNode
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_parse import parse_service, parse_vm
from tests.unit.plugins.onegate_double import sample


def test_service():
    service = parse_service(sample("onegate-service.json"))
    assert (service.id, service.name, service.state, service.is_running) == (1, "slurm-a", 2, True)
    assert [role.name for role in service.roles] == ["storage", "portal", "worker"]
    assert service.role("portal").vm_ids == (2,)
    assert service.role("nobody") is None
    assert service.role_of(4).name == "worker"
    assert service.role_of(9) is None
    (worker,) = service.worker_roles()
    assert (worker.cardinality, worker.state) == (2, 2)
    assert worker.nodes == (ServiceNode(3, "worker_0_(service_1)"), ServiceNode(4, "worker_1_(service_1)"))


def test_service_that_scales_down_lists_more_nodes_than_its_cardinality():
    service = parse_service(sample("onegate-service-while-terminating.json"))
    assert (service.state_name, service.is_running) == ("SCALING", False)
    assert (service.role("worker").cardinality, service.role("worker").vm_ids) == (1, (3, 4))


def test_every_recorded_service_and_vm_is_read():
    answers = [case["response"] for case in sample("onegate-exchanges.json") if isinstance(case["response"], dict)]
    services = [parse_service(answer) for answer in answers if "SERVICE" in answer]
    vms = [parse_vm(answer) for answer in answers if "VM" in answer]
    assert {service.state_name for service in services} >= {"DEPLOYING", "RUNNING", "SCALING", "COOLDOWN"}
    assert {(vm.state, vm.lcm_state) for vm in vms} >= {(3, 3), (8, 0), (6, 0)}


def test_order_of_oneflow_is_kept():
    answer = sample("onegate-service.json")
    answer["SERVICE"]["roles"][2]["nodes"].reverse()
    assert parse_service(answer).role("worker").vm_ids == (4, 3)


def test_node_that_oneflow_could_not_read_stays_in_the_list():
    answer = sample("onegate-service.json")
    answer["SERVICE"]["roles"][2]["nodes"][0]["vm_info"] = None
    assert parse_service(answer).role("worker").nodes[0] == ServiceNode(3, None)


def test_vm():
    vm = parse_vm(sample("onegate-vm.json"))
    assert (vm.id, vm.name, vm.is_running) == (2, "portal_0_(service_1)", True)
    assert (vm.role_name, vm.service_id, vm.addresses) == ("portal", "1", ("192.0.2.12",))
    assert vm.user_template == {"READY": "YES", "ROLE_NAME": "portal", "SERVICE_ID": "1"}


def test_vm_that_shuts_down_is_not_running():
    vm = parse_vm(sample("onegate-vm-while-terminating.json"))
    assert (vm.state, vm.lcm_state, vm.is_running) == (3, 12, False)


def test_vm_without_networks_and_attributes():
    answer = sample("onegate-vm.json")
    answer["VM"].update(USER_TEMPLATE={}, TEMPLATE={"NIC": [], "NIC_ALIAS": []})
    vm = parse_vm(answer)
    assert (vm.addresses, vm.role_name, vm.service_id) == ((), None, None)


def test_single_nic_as_an_object_and_a_nic_without_address():
    answer = sample("onegate-vm.json")
    answer["VM"]["TEMPLATE"]["NIC"] = answer["VM"]["TEMPLATE"]["NIC"][0]
    assert parse_vm(answer).addresses == ("192.0.2.12",)
    answer["VM"]["TEMPLATE"]["NIC"] = [{"MAC": "02:00:c0:00:02:0c"}, {"IP": "192.0.2.77"}]
    assert parse_vm(answer).addresses == ("192.0.2.77",)


SERVICE_PATHS = [
    ("SERVICE",),
    ("SERVICE", "id"),
    ("SERVICE", "name"),
    ("SERVICE", "state"),
    ("SERVICE", "roles"),
    ("SERVICE", "roles", 2),
    ("SERVICE", "roles", 2, "name"),
    ("SERVICE", "roles", 2, "cardinality"),
    ("SERVICE", "roles", 2, "state"),
    ("SERVICE", "roles", 2, "nodes"),
    ("SERVICE", "roles", 2, "nodes", 1),
    ("SERVICE", "roles", 2, "nodes", 1, "deploy_id"),
    ("SERVICE", "roles", 2, "nodes", 1, "vm_info", "VM"),
]
VM_PATHS = [
    ("VM",),
    ("VM", "ID"),
    ("VM", "STATE"),
    ("VM", "LCM_STATE"),
    ("VM", "USER_TEMPLATE"),
    ("VM", "TEMPLATE"),
    ("VM", "TEMPLATE", "NIC"),
    ("VM", "TEMPLATE", "NIC", 0),
]


def replaced(answer, path, value):
    answer = copy.deepcopy(answer)
    inner = answer
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return answer


WRONG = st.one_of(st.none(), st.booleans(), st.floats(), st.sampled_from([-1, ""]))
NO_NUMBERS = ["1x", " 1", "\u0661", "9" * 19, "-1", [1]]


@pytest.mark.parametrize("path", SERVICE_PATHS)
@given(value=WRONG)
def test_no_part_of_a_service_may_be_missing_or_wrong(path, value):
    with pytest.raises(OneGateError, match="is not complete") as error:
        parse_service(replaced(sample("onegate-service.json"), path, value), "http://10.0.0.1:5030")
    assert (error.value.path, error.value.status, error.value.retryable) == ("/service", 200, False)


@pytest.mark.parametrize("path", VM_PATHS)
@given(value=WRONG)
def test_no_part_of_a_vm_may_be_missing_or_wrong(path, value):
    with pytest.raises(OneGateError, match="/vms/2 with 200, but the answer is not complete"):
        parse_vm(replaced(sample("onegate-vm.json"), path, value), "http://10.0.0.1:5030", "/vms/2")


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("path", [("VM", "ID"), ("VM", "STATE"), ("VM", "LCM_STATE")])
def test_numbers_are_decimal_digits(path, value):
    with pytest.raises(OneGateError, match=f"{path[-1]} is not a number"):
        parse_vm(replaced(sample("onegate-vm.json"), path, value))


@pytest.mark.parametrize("answer", [None, [], "", 0, {}, {"SERVICE": {}}, {"error": "x"}])
def test_other_json_is_neither(answer):
    with pytest.raises(OneGateError):
        parse_service(answer)
    with pytest.raises(OneGateError):
        parse_vm(answer)


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("SERVICE", "roles", 2, "nodes", 0, "deploy_id"), 7, "name different VMs"),
        (("SERVICE", "roles", 2, "nodes", 0, "vm_info"), {"VM": {"ID": "4"}}, "name different VMs"),
        (("SERVICE", "roles", 2, "name"), "portal", "role portal is listed more than once"),
    ],
)
def test_answers_that_contradict_themselves(path, value, what):
    with pytest.raises(OneGateError, match=what):
        parse_service(replaced(sample("onegate-service.json"), path, value))


def test_vm_that_two_roles_list():
    answer = sample("onegate-service.json")
    answer["SERVICE"]["roles"][1]["nodes"] = answer["SERVICE"]["roles"][0]["nodes"]
    with pytest.raises(OneGateError, match="VM 1 is listed more than once"):
        parse_service(answer)
