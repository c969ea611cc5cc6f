# SPDX-License-Identifier: GPL-3.0-or-later
"""One wrong rule in the simulator, and the comparison with the recordings fails: each rule below rests on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.contract.test_oneflow_recordings import REPLAYS, SEED
from tests.opennebula import (
    deployment_order,
    elasticity,
    removal,
    scaling,
    service_templates,
    states,
    waits,
)
from tests.opennebula.oneflow import OneFlow
from tests.opennebula.records import Records
from tests.opennebula.role_nodes import RoleNodes
from tests.opennebula.services import Service, role_node_ids
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState
from tests.opennebula.vms import VirtualMachine, VmPool
from tests.opennebula.watchdog import Watchdog

Patch = pytest.MonkeyPatch
Decision = elasticity.ScaleDecision


def the_newest_leaves(patch: Patch) -> None:
    patch.setattr(deployment_order, "nodes_to_terminate", lambda nodes, cardinality: list(nodes[cardinality:]))


def a_missing_attribute_counts_as_zero(patch: Patch) -> None:
    right = elasticity.value_of
    patch.setattr(elasticity, "value_of", lambda reading, name: right(reading, name) or 0.0)


def text_is_left_out_of_the_mean(patch: Patch) -> None:
    right = elasticity.value_of

    def wrong(reading: elasticity.Reading, name: str) -> float | None:
        value = right(reading, name)
        shown = next((section[name] for section in reading.sections if name in section), "")
        return value if isinstance(shown, str) and shown[:1].isdigit() else None

    patch.setattr(elasticity, "value_of", wrong)


def means_are_not_rounded(patch: Patch) -> None:
    patch.setattr(elasticity, "round_to_two_decimals", lambda value: value)


def _decide_otherwise(patch: Patch, wrong: Callable[[Mapping[str, Any], Decision], Decision]) -> None:
    right = elasticity.decide
    patch.setattr(elasticity, "decide", lambda role, lookup, now: wrong(role, right(role, lookup, now)))


def the_roles_cooldown_stays(patch: Patch) -> None:
    _decide_otherwise(
        patch, lambda role, decision: dataclasses.replace(decision, cooldown_seconds=int(role["cooldown"]))
    )


def the_minimum_keeps_the_cooldown(patch: Patch) -> None:
    def wrong(role: Mapping[str, Any], decision: Decision) -> Decision:
        by_minimum = decision.change and decision.fired is None
        return dataclasses.replace(decision, cooldown_seconds=int(role["cooldown"])) if by_minimum else decision

    _decide_otherwise(patch, wrong)


def rules_are_tried_from_the_last(patch: Patch) -> None:
    right = elasticity.decide

    def wrong(role: Mapping[str, Any], lookup: Any, now: int) -> Decision:
        decision = right({**role, "elasticity_policies": (role.get("elasticity_policies") or [])[::-1]}, lookup, now)
        last = len(decision.policies) - 1
        return dataclasses.replace(
            decision,
            policies=decision.policies[::-1],
            readings=[(last - index, reading) for index, reading in decision.readings],
            fired=None if decision.fired is None else last - decision.fired,
        )

    patch.setattr(elasticity, "decide", wrong)


def the_first_true_rule_wins_at_the_maximum_too(patch: Patch) -> None:
    right = elasticity.read_policy
    tried: list[bool] = []

    def wrong(policy: Any, role: Any, lookup: Any, now: int) -> elasticity.PolicyReading:
        reading = right(policy, role, lookup, now)
        if policy is not None and int(policy["adjust"]) > 0:
            tried[:] = [reading.triggered]
        elif tried and tried[0]:
            return dataclasses.replace(reading, change=0)
        return reading

    patch.setattr(elasticity, "read_policy", wrong)


def scaling_is_allowed_in_cooldown(patch: Patch) -> None:
    patch.setattr(scaling, "can_scale", lambda state: state in (ServiceState.RUNNING, ServiceState.COOLDOWN))


def deletion_waits_for_nobody(patch: Patch) -> None:
    patch.setattr(
        deployment_order,
        "roles_to_shut_down",
        lambda roles, deployment: [role["name"] for role in roles if role["state"] != RoleState.DONE],
    )


def a_parent_that_does_not_exist_is_refused(patch: Patch) -> None:
    right = service_templates.validate

    def wrong(template: Mapping[str, Any]) -> dict[str, Any]:
        body = right(template)
        names = {role["name"] for role in body["roles"]}
        for role in body["roles"]:
            if not set(role.get("parents") or []) <= names:
                raise service_templates.ValidationError(f"Role '{role['name']}' has an unknown parent")
        return body

    patch.setattr(service_templates, "validate", wrong)


def small_letters_are_ready(patch: Patch) -> None:
    right = waits.update_passes
    patch.setattr(waits, "update_passes", lambda text: right(text.upper()))


def true_readings_are_kept_while_scaling(patch: Patch) -> None:
    def wrong(self: Records, service: Service, role: dict[str, Any], state: RoleState) -> None:
        role["state"] = int(state)
        self.event(service, "ROLE_STATE", state.name, role)

    patch.setattr(Records, "set_role_state", wrong)


def a_node_leaves_before_its_vm_is_done(patch: Patch) -> None:
    right = RoleNodes.terminate

    def wrong(self: RoleNodes, service: Service, role: dict[str, Any], recovering: bool = False) -> list[int]:
        leaving = right(self, service, role, recovering)
        self._records.remove_nodes(service, role, leaving)
        return leaving

    patch.setattr(RoleNodes, "terminate", wrong)


def a_lost_vm_leaves_the_cardinality(patch: Patch) -> None:
    def wrong(self: Watchdog, service: Service, role: dict[str, Any], vm: VirtualMachine) -> None:
        self._records.remove_nodes(service, role, [vm.id])

    patch.setattr(Watchdog, "_gone", wrong)


def a_vm_that_is_off_is_no_warning(patch: Patch) -> None:
    right = Watchdog._apply

    def wrong(self: Watchdog, service: Service, vm: VirtualMachine) -> None:
        if vm.state != VmState.POWEROFF:
            right(self, service, vm)

    patch.setattr(Watchdog, "_apply", wrong)


def the_owner_may_retry(patch: Patch) -> None:
    patch.setattr(VmPool, "retry", lambda self, vm: self._set_state(vm, VmState.ACTIVE, LcmState.RUNNING))


def a_failed_vm_is_not_counted(patch: Patch) -> None:
    right = scaling.Scaling.scaling_failed

    def wrong(self: scaling.Scaling, wait: waits.Wait) -> None:
        right(self, wait)
        service = self._services[wait.service_id]
        role = service.role(wait.role_name)
        assert role is not None
        role["cardinality"] = len(role_node_ids(role)) - len(wait.failed)

    patch.setattr(scaling.Scaling, "scaling_failed", wrong)


def a_refused_template_takes_a_number(patch: Patch) -> None:
    right = OneFlow.create_template

    def wrong(self: OneFlow, template: Mapping[str, Any]) -> int:
        try:
            return right(self, template)
        except service_templates.ValidationError:
            self._take_number()
            raise

    patch.setattr(OneFlow, "create_template", wrong)


def a_service_in_warning_cannot_be_deleted(patch: Patch) -> None:
    right = states.can_undeploy
    patch.setattr(removal, "can_undeploy", lambda state: state != ServiceState.WARNING and right(state))


WRONG_RULES = [
    the_newest_leaves,
    a_missing_attribute_counts_as_zero,
    text_is_left_out_of_the_mean,
    means_are_not_rounded,
    the_roles_cooldown_stays,
    the_minimum_keeps_the_cooldown,
    rules_are_tried_from_the_last,
    the_first_true_rule_wins_at_the_maximum_too,
    scaling_is_allowed_in_cooldown,
    deletion_waits_for_nobody,
    a_parent_that_does_not_exist_is_refused,
    small_letters_are_ready,
    true_readings_are_kept_while_scaling,
    a_node_leaves_before_its_vm_is_done,
    a_lost_vm_leaves_the_cardinality,
    a_vm_that_is_off_is_no_warning,
    the_owner_may_retry,
    a_failed_vm_is_not_counted,
    a_refused_template_takes_a_number,
    a_service_in_warning_cannot_be_deleted,
]


def noticed_by() -> str | None:
    """The first replay that differs from its recordings, or cannot go on as they did."""
    for replay in REPLAYS:
        try:
            if not all(comparison.is_equal for comparison in replay(SEED)):
                return replay.__name__
        except AssertionError:
            return replay.__name__
    return None


@pytest.mark.parametrize("wrong_rule", WRONG_RULES, ids=lambda rule: rule.__name__)
def test_a_wrong_rule_is_noticed(wrong_rule: Callable[[Patch], None], monkeypatch: Patch) -> None:
    print(f"ONEFLOW_SEED={SEED}")
    wrong_rule(monkeypatch)
    assert noticed_by() is not None


def test_without_a_wrong_rule_nothing_is_noticed() -> None:
    print(f"ONEFLOW_SEED={SEED}")
    assert noticed_by() is None
