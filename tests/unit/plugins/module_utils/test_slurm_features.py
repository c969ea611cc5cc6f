# SPDX-License-Identifier: GPL-3.0-or-later
"""Feature expressions, against Python's own evaluation of the same expression."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_features import (
    FeatureExpressionError,
    matches_features,
)


@pytest.mark.parametrize(
    ("expression", "features", "matches"),
    [
        ("", "", True),
        ("(null)", "", True),
        ("worker", "worker", True),
        ("worker&big", "worker", False),
        ("worker&big", "worker big", True),
        ("gpu|big", "worker big", True),
        ("worker,gpu", "worker", False),
        ("worker&(big|gpu)", "worker gpu", True),
        ("worker&(big|gpu)", "worker", False),
        ("[a|b]", "b", True),
        ("a*1", "a", True),
        ("[a*1&b*1]", "a", False),
        ("[a*2&b*1]", "a b", True),
        # From left to right: (a|b)&c
        ("a|b&c", "a", False),
        ("a|b&c", "a c", True),
        ("zone-1&x_y.z", "zone-1 x_y.z", True),
    ],
)
def test_expressions(expression, features, matches):
    assert matches_features(expression, frozenset(features.split())) is matches


@pytest.mark.parametrize("expression", ["a&", "&a", "(a", "a)", "a b", "!a", "[a|b)", "a**1", "()", "a&|b", "*1"])
def test_anything_else_is_refused(expression):
    with pytest.raises(FeatureExpressionError):
        matches_features(expression, frozenset("a"))


_NAMES = st.sampled_from("abcd")
_GROUPED = st.recursive(
    _NAMES, lambda inner: st.tuples(inner, st.sampled_from("&|,"), inner).map(lambda t: f"({t[0]}){t[1]}({t[2]})")
)


@settings(deadline=None)
@given(_GROUPED, st.sets(_NAMES))
def test_grouped_expressions_mean_what_python_says(expression, features):
    python = expression.replace("&", " and ").replace(",", " and ").replace("|", " or ")
    names = {name: name in features for name in "abcd"}
    assert matches_features(expression, features) is eval(python, {"__builtins__": {}}, names)
