# SPDX-License-Identifier: GPL-3.0-or-later
"""How OneFlow decides by a role's policies whether the role grows or shrinks. Pure: nothing here changes its input."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.opennebula.expressions import ExpressionError, Lookup, parse_expression
from tests.opennebula.states import LcmState, VmState

#: Seconds, when neither a policy nor its role names a cooldown (OneFlow's shipped default).
DEFAULT_COOLDOWN_SECONDS = 300

_LEADING_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:_\d+)*)?(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+(?:_\d+)*)?)")


def leading_number(text: str) -> float:
    """The number a text starts with, 0.0 when it starts with none (``3 jobs`` is 3.0, ``many`` and empty are 0.0)."""
    match = _LEADING_NUMBER.match(text)
    try:
        return float(match.group(1)) if match else 0.0
    except ValueError:
        # nothing, a lone sign, or an exponent without a mantissa
        return 0.0


def round_to_two_decimals(value: float) -> float:
    """Two decimals, halves away from zero."""
    scaled = abs(value * 100)
    whole = math.floor(scaled)
    if scaled - whole >= 0.5:
        whole += 1
    return (-whole if value < 0 else whole) / 100.0


@dataclass(frozen=True)
class Reading:
    """What the autoscaler sees of one VM of the role. ``sections`` are searched in their order."""

    state: int
    lcm_state: int
    sections: tuple[Mapping[str, Any], ...]


def is_counted(reading: Reading) -> bool:
    """Only VMs in ACTIVE and RUNNING count."""
    return reading.state == VmState.ACTIVE and reading.lcm_state == LcmState.RUNNING


def value_of(reading: Reading, name: str) -> float | None:
    """The VM's number for an attribute; None when it has none or only a vector or a list of it."""
    for section in reading.sections:
        if name in section:
            value = section[name]
            if isinstance(value, str):
                return leading_number(value)
            return float(value) if isinstance(value, (int, float)) else None
    return None


def mean_of(readings: Iterable[Reading], name: str) -> float | None:
    """Mean over the VMs that have the attribute, to two decimals; None when none has it."""
    values = [value for reading in readings if is_counted(reading) and (value := value_of(reading, name)) is not None]
    return round_to_two_decimals(sum(values) / len(values)) if values else None


def evaluate_expression(expression: str, lookup: Lookup) -> tuple[bool, str]:
    """Truth of a policy's expression and its text with values (``SLURM_PENDING[1.0] > 0``)."""
    try:
        return parse_expression(expression).result(lookup)
    except ExpressionError as error:
        return False, f"Parse error. '{expression}': {error}"


def adjusted_cardinality(policy: Mapping[str, Any], cardinality: int, min_vms: int | None, max_vms: int | None) -> int:
    """The cardinality a fired policy asks for, within the role's bounds.

    A cardinality that was forced out of the bounds moves only towards them.
    """
    kind = str(policy["type"]).upper()
    adjust = int(policy["adjust"])
    if kind == "CHANGE":
        wanted = cardinality + adjust
    elif kind == "PERCENTAGE_CHANGE":
        change = cardinality * adjust / 100.0
        size = max(1, int(abs(change)), int(policy.get("min_adjust_step") or 0))
        wanted = cardinality + (size if change > 0 else -size)
    elif kind == "CARDINALITY":
        wanted = adjust
    else:
        return cardinality
    if adjust > 0:
        return min(wanted, max(cardinality, max_vms or 0))
    if adjust < 0:
        return max(wanted, min_vms or 0)
    return wanted


@dataclass(frozen=True)
class PolicyReading:
    """One policy evaluated once. ``policy`` is the policy as it is stored afterwards."""

    policy: dict[str, Any]
    evaluated: bool
    holds: bool
    triggered: bool
    change: int


def read_policy(policy: Mapping[str, Any], role: Mapping[str, Any], lookup: Lookup, now_seconds: int) -> PolicyReading:
    """Evaluate a policy, unless its period has not passed since its last evaluation.

    ``true_evals`` counts readings that held in a row and is capped at ``period_number``; at that number the policy
    triggers, 0 and 1 at once.
    """
    last_seconds = int(policy.get("last_eval") or 0)
    if now_seconds < last_seconds + int(policy.get("period") or 0):
        return PolicyReading(dict(policy), evaluated=False, holds=False, triggered=False, change=0)
    cardinality = int(role["cardinality"])
    needed = int(policy.get("period_number") or 0)
    holds, text = evaluate_expression(policy["expression"], lookup)
    count = min(int(policy.get("true_evals") or 0) + 1, needed) if holds else 0
    triggered = holds and count >= needed
    wanted = cardinality
    if triggered:
        wanted = adjusted_cardinality(policy, cardinality, role.get("min_vms"), role.get("max_vms"))
    stored = dict(policy)
    stored.update(last_eval=now_seconds, true_evals=count, expression_evaluated=text)
    return PolicyReading(stored, evaluated=True, holds=holds, triggered=triggered, change=wanted - cardinality)


@dataclass(frozen=True)
class ScaleDecision:
    """What one tick of the autoscaler decides for a role.

    ``cooldown_seconds`` is written over the role's own cooldown whenever ``change`` is not 0, and stays there.
    ``fired`` is the index of the policy behind the change, None for the rule of the minimum.
    """

    change: int = 0
    cooldown_seconds: int | None = None
    policies: list[dict[str, Any]] = field(default_factory=list)
    readings: list[tuple[int, PolicyReading]] = field(default_factory=list)
    fired: int | None = None


def decide(role: Mapping[str, Any], lookup: Lookup, now_seconds: int) -> ScaleDecision:
    """The policies in the order of the list, the first that yields a change wins and the rest is not read.

    A policy that triggers without a change (growth at the maximum, shrinking at the minimum) lets the next one try.
    Below ``min_vms`` the role grows to it without a cooldown.
    """
    policies = [dict(policy) for policy in role.get("elasticity_policies") or []]
    readings: list[tuple[int, PolicyReading]] = []
    for index, policy in enumerate(policies):
        reading = read_policy(policy, role, lookup, now_seconds)
        policies[index] = reading.policy
        if reading.evaluated:
            readings.append((index, reading))
        if reading.change:
            cooldown = policy.get("cooldown")
            if cooldown is None:
                cooldown = role.get("cooldown")
            if cooldown is None:
                cooldown = DEFAULT_COOLDOWN_SECONDS
            return ScaleDecision(reading.change, int(cooldown), policies, readings, index)
    missing = int(role.get("min_vms") or 0) - int(role["cardinality"])
    if missing > 0:
        return ScaleDecision(missing, 0, policies, readings)
    return ScaleDecision(0, None, policies, readings)
