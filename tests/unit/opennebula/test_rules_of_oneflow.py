# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's small rules: ready gate, watchdog, order of deployment and removal, values of parents, states."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opennebula.deployment_order import nodes_to_terminate, roles_to_deploy, roles_to_shut_down
from tests.opennebula.parent_values import evaluate, find_value
from tests.opennebula.ready_gate import stored_value_passes, update_passes
from tests.opennebula.scaling import bounds_refusal
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState, can_scale, can_undeploy
from tests.opennebula.watchdog import Verdict, verdict


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ('READY="YES"', True),
        ("READY=YES", True),
        ('READY="YES "', True),
        ('SLURMD_READY="YES"', True),
        ('NOT_READY="YES"', True),
        ('A="1"\nREADY="YES"\nB="2"', True),
        ('READY="YES, really"', True),
        ('READY = "Y E S"', True),
        ('READY="yes"', False),
        ('READY="NO"', False),
        ('SLURMD_READY="NO"', False),
        ("", False),
    ],
)
def test_gate_by_event(text: str, passes: bool) -> None:
    assert update_passes(text) is passes


@pytest.mark.parametrize(
    ("value", "passes"),
    [("YES", True), (" YES\n", True), ("yes", False), ("NO", False), (None, False), (["YES"], False)],
)
def test_gate_by_looking(value: object, passes: bool) -> None:
    assert stored_value_passes(value) is passes


VERDICTS = {
    (VmState.ACTIVE, LcmState.RUNNING): Verdict.RUNNING,
    (VmState.ACTIVE, LcmState.UNKNOWN): Verdict.WARNING,
    (VmState.ACTIVE, LcmState.BOOT_FAILURE): Verdict.WARNING,
    (VmState.POWEROFF, LcmState.LCM_INIT): Verdict.WARNING,
    (VmState.DONE, LcmState.LCM_INIT): Verdict.GONE,
    (VmState.ACTIVE, LcmState.SHUTDOWN): None,
    (VmState.ACTIVE, LcmState.BOOT): None,
    (VmState.ACTIVE, LcmState.PROLOG): None,
    (VmState.PENDING, LcmState.LCM_INIT): None,
}


@pytest.mark.parametrize("states", VERDICTS, ids=str)
def test_watchdog(states: tuple[VmState, LcmState]) -> None:
    assert verdict(*states) == VERDICTS[states]


def roles(**states: RoleState) -> list[dict[str, Any]]:
    parents = {"storage": [], "portal": ["storage"], "worker": ["storage", "portal"]}
    return [{"name": name, "parents": parents[name], "state": state} for name, state in states.items()]


P, R, D = RoleState.PENDING, RoleState.RUNNING, RoleState.DONE


@pytest.mark.parametrize(
    ("states", "names"),
    [
        ((P, P, P), ["storage"]),
        ((RoleState.DEPLOYING, P, P), []),
        ((R, P, P), ["portal"]),
        ((R, RoleState.DEPLOYING, P), []),
        ((R, R, P), ["worker"]),
        ((RoleState.WARNING, R, P), []),
        ((R, R, R), []),
    ],
)
def test_straight_deployment(states: tuple[RoleState, ...], names: list[str]) -> None:
    given_roles = roles(**dict(zip(("storage", "portal", "worker"), states, strict=True)))
    assert roles_to_deploy(given_roles, "straight") == names


def test_without_strategy_all_roles_at_once() -> None:
    assert roles_to_deploy(roles(storage=P, portal=P, worker=P), "none") == ["storage", "portal", "worker"]


def test_a_parent_that_does_not_exist_never_runs() -> None:
    assert roles_to_deploy([{"name": "a", "parents": ["nope"], "state": P}], "straight") == []


@pytest.mark.parametrize(
    ("states", "names"),
    [
        ((R, R, R), ["worker"]),
        ((R, R, RoleState.UNDEPLOYING), []),
        ((R, R, D), ["portal"]),
        ((R, D, D), ["storage"]),
        ((D, D, D), []),
    ],
)
def test_shutdown_in_reverse_order(states: tuple[RoleState, ...], names: list[str]) -> None:
    given_roles = roles(**dict(zip(("storage", "portal", "worker"), states, strict=True)))
    assert roles_to_shut_down(given_roles, "straight") == names


@pytest.mark.parametrize(
    ("nodes", "cardinality", "leaving"),
    [([3, 4, 5], 2, [3]), ([3, 4, 5], 1, [3, 4]), ([4, 5], 2, [4, 5]), ([], 0, []), ([3], 2, []), ([3, 4], 3, [3])],
)
def test_the_first_of_the_list_leave(nodes: list[int], cardinality: int, leaving: list[int]) -> None:
    assert nodes_to_terminate(nodes, cardinality) == leaving


@given(st.lists(st.integers(), unique=True, min_size=1, max_size=8), st.data())
def test_removal_keeps_the_newest(nodes: list[int], data: st.DataObject) -> None:
    cardinality = data.draw(st.integers(0, len(nodes) - 1))
    leaving = nodes_to_terminate(nodes, cardinality)
    assert nodes[len(leaving) :] == nodes[len(nodes) - cardinality :]
    assert len(nodes) - len(leaving) == cardinality


STORAGE = {
    "NAME": "storage_0_(service_1)",
    "TEMPLATE": {"CONTEXT": {"ETH1_IP": "10.77.0.10", "EMPTY": ""}, "NIC": [{"IP": "a"}, {"IP": "b"}]},
    "USER_TEMPLATE": {"SLURM_MUNGE_KEY": "abc", "READY": "YES"},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${storage.TEMPLATE.CONTEXT.ETH1_IP}", "10.77.0.10"),
        ("${storage.template.context.eth1_ip}", "10.77.0.10"),
        ("http://${storage.TEMPLATE.CONTEXT.ETH1_IP}:3128", "http://10.77.0.10:3128"),
        ("${storage.user_template.slurm_munge_key}", "abc"),
        ("${storage.READY}", "YES"),
        ("${storage.TEMPLATE.NIC.IP}", "a"),
        ("${storage.TEMPLATE.CONTEXT.EMPTY}", ""),
        ("${storage.TEMPLATE.CONTEXT.NOPE}", ""),
        ("${portal.TEMPLATE.CONTEXT.ETH1_IP}", ""),
        ("${storage}", ""),
        ("echo ${HOME}", "echo "),
        ("$HOME", "$HOME"),
    ],
)
def test_values_of_parents(text: str, value: str) -> None:
    assert evaluate({"A": [text]}, {"storage": [STORAGE]}) == {"A": [value]}


def test_the_first_vm_that_has_the_value_gives_it() -> None:
    without = {"TEMPLATE": {"CONTEXT": {}}}
    assert evaluate("${storage.TEMPLATE.CONTEXT.ETH1_IP}", {"storage": [without, STORAGE]}) == "10.77.0.10"
    assert find_value(without, ["TEMPLATE", "CONTEXT", "ETH1_IP"]) is None


def test_numbers_of_states() -> None:
    """Guests see these numbers."""
    assert [f"{state.value} {state.name}" for state in VmState] == [
        *("0 INIT", "1 PENDING", "2 HOLD", "3 ACTIVE", "4 STOPPED", "5 SUSPENDED", "6 DONE", "8 POWEROFF"),
        *("9 UNDEPLOYED", "10 CLONING"),
    ]
    assert {state.name: state.value for state in LcmState} == {
        "LCM_INIT": 0,
        "PROLOG": 1,
        "BOOT": 2,
        "RUNNING": 3,
        "EPILOG": 11,
        "SHUTDOWN": 12,
        "CLEANUP_RESUBMIT": 15,
        "UNKNOWN": 16,
        "SHUTDOWN_POWEROFF": 18,
        "BOOT_POWEROFF": 20,
        "BOOT_FAILURE": 36,
        "PROLOG_FAILURE": 39,
        "EPILOG_FAILURE": 40,
    }
    common = (
        *("PENDING", "DEPLOYING", "RUNNING", "UNDEPLOYING", "WARNING", "DONE", "FAILED_UNDEPLOYING"),
        *("FAILED_DEPLOYING", "SCALING", "FAILED_SCALING", "COOLDOWN"),
    )
    networks = ("DEPLOYING_NETS", "UNDEPLOYING_NETS", "FAILED_DEPLOYING_NETS", "FAILED_UNDEPLOYING_NETS")
    assert [(state.value, state.name) for state in ServiceState] == list(enumerate((*common, *networks, "HOLD")))
    assert [(state.value, state.name) for state in RoleState] == list(enumerate((*common, "HOLD")))


def test_states_that_allow_scaling_and_deletion() -> None:
    assert [state for state in ServiceState if can_scale(state)] == [ServiceState.RUNNING]
    assert [state.name for state in ServiceState if can_undeploy(state)] == [
        "PENDING",
        "RUNNING",
        "UNDEPLOYING",
        "WARNING",
        "HOLD",
    ]


@pytest.mark.parametrize(
    ("cardinality", "refusal"),
    [(0, "Minimum cardinality is 1"), (1, None), (3, None), (4, "Maximum cardinality is 3")],
)
def test_bounds(cardinality: int, refusal: str | None) -> None:
    assert bounds_refusal({"min_vms": 1, "max_vms": 3}, cardinality) == refusal
