# SPDX-License-Identifier: GPL-3.0-or-later
"""Means, periods, counters and decisions of policies, without a service."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opennebula.elasticity import (
    Reading,
    adjusted_cardinality,
    decide,
    leading_number,
    mean_of,
    read_policy,
    round_to_two_decimals,
)

GROW = {"type": "CHANGE", "adjust": 1, "expression": "P > 0"}
SHRINK = {"type": "CHANGE", "adjust": -1, "expression": "I > 0.99"}


def vm(*sections: dict[str, Any], state: int = 3, lcm_state: int = 3) -> Reading:
    return Reading(state, lcm_state, sections)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("3 jobs", 3.0),
        ("many", 0.0),
        ("", 0.0),
        ('"', 0.0),
        (" 2.5x", 2.5),
        ("-4", -4.0),
        ("1e3", 1000.0),
        ("1e", 1.0),
        (".5", 0.5),
        ("-", 0.0),
        ("0x1A", 0.0),
        ("1_000", 1000.0),
        ("inf", 0.0),
    ],
)
def test_leading_number(text: str, number: float) -> None:
    assert leading_number(text) == number


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.004, 0.0), (0.994, 0.99), (0.995, 1.0), (-0.004, 0.0), (-2.675, -2.68), (2.5, 2.5)]
)
def test_rounding(value: float, rounded: float) -> None:
    assert round_to_two_decimals(value) == pytest.approx(rounded, abs=1e-12)
    assert str(round_to_two_decimals(value)) != "-0.0"


MEANS = [
    ("a VM without the attribute is left out", [{"P": "1"}, {}], 1.0),
    ("0 and 5", [{"P": "0"}, {"P": "5"}], 2.5),
    ("text counts as 0", [{"P": "many"}, {"P": "3"}], 1.5),
    ("empty counts as 0", [{"P": ""}, {"P": "3"}], 1.5),
    ("a leading number is used", [{"P": "3 jobs"}, {"P": "0"}], 1.5),
    ("rounded before it is compared", [{"P": "0.008"}, {"P": "0"}], 0.0),
    ("a vector has no number", [{"P": {"X": "1"}}, {"P": "4"}], 4.0),
    ("a repeated attribute has no number", [{"P": ["1", "2"]}, {"P": "4"}], 4.0),
    ("nobody has it", [{}, {"Q": "1"}], None),
]


@pytest.mark.parametrize(("published", "mean"), [case[1:] for case in MEANS], ids=[case[0] for case in MEANS])
def test_mean(published: list[dict[str, Any]], mean: float | None) -> None:
    assert mean_of([vm(attributes) for attributes in published], "P") == mean


@pytest.mark.parametrize(("state", "lcm_state"), [(3, 12), (3, 2), (3, 16), (8, 0), (6, 0), (1, 0)])
def test_only_running_vms_count(state: int, lcm_state: int) -> None:
    assert mean_of([vm({"P": "9"}, state=state, lcm_state=lcm_state), vm({"P": "1"})], "P") == 1.0


def test_the_first_section_with_the_name_counts() -> None:
    user, monitoring, template, document = {"MEMORY": "1"}, {"MEMORY": "2", "CPU": "20"}, {"CPU": "3"}, {"STIME": "4"}
    readings = [vm(user, monitoring, template, document)]
    assert [mean_of(readings, name) for name in ("MEMORY", "CPU", "STIME")] == [1.0, 20.0, 4.0]


@given(st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=1, max_size=6))
def test_mean_lies_between_the_extremes(values: list[float]) -> None:
    mean = mean_of([vm({"P": str(value)}) for value in values], "P")
    assert mean is not None
    assert min(values) - 0.0051 <= mean <= max(values) + 0.0051


@pytest.mark.parametrize(
    ("kind", "adjust", "cardinality", "wanted"),
    [
        ("CHANGE", 1, 2, 3),
        ("CHANGE", 5, 2, 4),
        ("CHANGE", 1, 4, 4),
        ("CHANGE", -1, 2, 1),
        ("CHANGE", -1, 1, 1),
        ("CHANGE", 1, 6, 6),  # forced above the maximum: it goes no further
        ("CHANGE", -1, 6, 5),  # and comes back by its own step
        ("CHANGE", -1, 0, 1),  # the minimum is a hard limit
        ("CARDINALITY", 3, 1, 3),
        ("CARDINALITY", 9, 1, 4),
        ("CARDINALITY", 0, 2, 0),  # the bounds hold for adjustments above and below 0 only
        ("PERCENTAGE_CHANGE", 50, 2, 3),
        ("PERCENTAGE_CHANGE", 10, 2, 3),
        ("PERCENTAGE_CHANGE", -50, 4, 2),
    ],
)
def test_adjusted_cardinality(kind: str, adjust: int, cardinality: int, wanted: int) -> None:
    assert adjusted_cardinality({"type": kind, "adjust": adjust}, cardinality, 1, 4) == wanted


def test_percentage_has_a_least_step() -> None:
    policy = {"type": "PERCENTAGE_CHANGE", "adjust": 10, "min_adjust_step": 3}
    assert adjusted_cardinality(policy, 10, 1, 40) == 13
    assert adjusted_cardinality({**policy, "min_adjust_step": 0}, 30, 1, 40) == 33


def test_an_unknown_kind_changes_nothing() -> None:
    assert adjusted_cardinality({"type": "SHIFT", "adjust": 1}, 2, 1, 4) == 2


@given(st.integers(-5, 5).filter(bool), st.integers(0, 10), st.integers(0, 5), st.integers(0, 5))
def test_a_change_never_leaves_the_bounds_further(adjust: int, cardinality: int, minimum: int, width: int) -> None:
    maximum = minimum + width
    wanted = adjusted_cardinality({"type": "CHANGE", "adjust": adjust}, cardinality, minimum, maximum)
    assert wanted <= max(cardinality, maximum, minimum)
    assert wanted >= min(cardinality, minimum)


def read(policy: dict[str, Any], now: int, value: float | None, cardinality: int = 1) -> Any:
    role = {"cardinality": cardinality, "min_vms": 1, "max_vms": 3}
    return read_policy({**GROW, **policy}, role, {"P": value}.get, now)


def test_counter_of_true_readings() -> None:
    policy: dict[str, Any] = {"period_number": 3}
    counts = []
    for now, value in ((10, 1.0), (20, 1.0), (30, 0.0), (40, 1.0), (50, 1.0), (60, 1.0)):
        reading = read(policy, now, value)
        policy = reading.policy
        counts.append((policy["true_evals"], reading.triggered))
    assert counts == [(1, False), (2, False), (0, False), (1, False), (2, False), (3, True)]
    assert policy["last_eval"] == 60
    assert policy["expression_evaluated"] == "P[1.0] > 0"


@pytest.mark.parametrize("policy", [{}, {"period_number": 0}, {"period_number": 1}])
def test_period_number_zero_and_one_trigger_at_once(policy: dict[str, Any]) -> None:
    reading = read(policy, 10, 1.0)
    assert reading.triggered
    assert reading.policy["true_evals"] == policy.get("period_number", 0)


def test_the_counter_is_capped() -> None:
    assert read({"period_number": 2, "true_evals": 2}, 10, 1.0).policy["true_evals"] == 2


@pytest.mark.parametrize(("now", "evaluated"), [(159, False), (160, True), (161, True)])
def test_period_is_a_distance_from_the_last_evaluation(now: int, evaluated: bool) -> None:
    reading = read({"period": 60, "last_eval": 100, "true_evals": 1, "period_number": 2}, now, 1.0)
    assert reading.evaluated is evaluated
    assert reading.triggered is evaluated
    assert reading.holds is evaluated
    assert reading.change == (1 if evaluated else 0)
    assert reading.policy["last_eval"] == (now if evaluated else 100)


def test_without_a_period_every_look_is_a_reading() -> None:
    assert read({"last_eval": 100}, 100, 1.0).evaluated


def test_a_role_without_minimum_may_be_empty() -> None:
    assert decide({"cardinality": 0}, {}.get, 100).change == 0


def decided(policies: list[dict[str, Any]], cardinality: int, cooldown: int | None = 15, **values: float) -> Any:
    role = {
        "cardinality": cardinality,
        "min_vms": 1,
        "max_vms": 3,
        "cooldown": cooldown,
        "elasticity_policies": policies,
    }
    return decide(role, values.get, 100)


def test_below_the_maximum_the_first_policy_wins_and_the_second_is_not_read() -> None:
    decision = decided([GROW, SHRINK], 2, P=2.0, I=1.0)
    assert (decision.change, decision.fired) == (1, 0)
    assert [index for index, _ in decision.readings] == [0]
    assert "last_eval" not in decision.policies[1]


def test_at_the_maximum_the_second_policy_fires() -> None:
    decision = decided([GROW, SHRINK], 3, P=2.0, I=1.0)
    assert (decision.change, decision.fired) == (-1, 1)
    assert [reading.holds for _, reading in decision.readings] == [True, True]


def test_at_the_maximum_growth_changes_nothing() -> None:
    assert decided([GROW, SHRINK], 3, P=2.5, I=0.0).change == 0


def test_at_the_minimum_shrinking_changes_nothing() -> None:
    decision = decided([GROW, SHRINK], 1, P=0.0, I=1.0)
    assert decision.change == 0
    assert decision.cooldown_seconds is None


def test_below_the_minimum_the_role_grows_without_a_cooldown() -> None:
    decision = decided([GROW, SHRINK], 0)
    assert (decision.change, decision.cooldown_seconds, decision.fired) == (1, 0, None)


@pytest.mark.parametrize(
    ("own", "role", "cooldown"), [({"cooldown": 3}, 15, 3), ({}, 15, 15), ({"cooldown": 0}, 15, 0), ({}, None, 300)]
)
def test_whose_cooldown(own: dict[str, int], role: int | None, cooldown: int) -> None:
    assert decided([{**GROW, **own}], 1, role, P=1.0).cooldown_seconds == cooldown


def test_deciding_changes_nothing_itself() -> None:
    policies = [dict(GROW), dict(SHRINK)]
    decided(policies, 2, P=1.0, I=1.0)
    assert policies == [GROW, SHRINK]
