# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus' text format, as Prometheus' own Python client reads it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.onehpc.ondemand.plugins.module_utils.prometheus_text import Gauge, Sample, exposition

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SAMPLES = st.dictionaries(ANY_TEXT, st.floats(allow_nan=False, allow_infinity=False), max_size=4)


def read(text):
    """Metric -> (help, {label "a": value}), and every sample's name is its metric's."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.name not in found
        assert family.type == "gauge"
        assert {sample.name for sample in family.samples} == {family.name}
        found[family.name] = family.documentation, {sample.labels["a"]: sample.value for sample in family.samples}
    return found


@given(st.dictionaries(st.sampled_from(["one", "two_seconds", "three"]), SAMPLES), st.randoms())
def test_what_is_written_is_read_again_in_whatever_order_it_came(metrics, chance):
    gauges = [
        Gauge(name, f"About {name}", tuple(Sample(value, {"a": label}) for label, value in samples.items()))
        for name, samples in metrics.items()
    ]
    text = exposition(gauges)
    assert read(text) == {name: (f"About {name}", samples) for name, samples in metrics.items() if samples}
    chance.shuffle(gauges)
    mixed = [Gauge(g.name, g.what, tuple(random.sample(g.samples, len(g.samples)))) for g in gauges]
    assert exposition(mixed) == text


def test_the_text_to_the_letter():
    gauge = Gauge("a_seconds", "Seconds\\of\nit", (Sample(2.50, {"z": 'q"\\\n', "b": "x"}), Sample(True)))
    assert exposition([gauge]) == (
        "# HELP a_seconds Seconds\\\\of\\nit\n"
        "# TYPE a_seconds gauge\n"
        "a_seconds 1\n"
        'a_seconds{b="x",z="q\\"\\\\\\n"} 2.5\n'
    )


@pytest.mark.parametrize("gauges", [[], [Gauge("a", "nothing known", ())]])
def test_nothing_known_is_no_text(gauges):
    assert exposition(gauges) == ""
