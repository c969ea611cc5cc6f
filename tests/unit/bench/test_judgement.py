# SPDX-License-Identifier: GPL-3.0-or-later
"""When the bench passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.judgement import BARE, CLIENT, COLD, WARM, Cost, complaints, rendered, rows


def costs(cold=0.6, warm=0.2, bare=0.5):
    seconds = {CLIENT: [0.05], BARE: [bare, 9.0, 0.1], COLD: [cold], WARM: [warm, warm, 7.0]}
    return {name: [Cost(one, 50.0) for one in runs] for name, runs in seconds.items()}


@pytest.mark.parametrize(
    ("measured", "decision_seconds", "missed"),
    [
        (costs(), 0.2, []),
        (costs(cold=0.65, warm=0.25), 1.0, []),
        (costs(cold=0.66), 0.2, ["worker tick, cold: 1.32 of the bare playbook, the bar is 1.30"]),
        (costs(warm=0.26), 0.2, ["worker tick, warm: 0.52 of the bare playbook, the bar is 0.50"]),
        (costs(), 1.01, ["the decision took 1.01 s, the bar is 1.00 s"]),
    ],
)
def test_bars(measured, decision_seconds, missed):
    assert complaints(rows(measured), decision_seconds) == missed


@pytest.mark.parametrize("name", [BARE, COLD, WARM])
def test_what_was_not_measured_does_not_pass(name):
    measured = costs()
    del measured[name]
    with pytest.raises(ValueError, match=f"not measured: {name}"):
        rows(measured)
    with pytest.raises(ValueError, match=f"not measured: {name}"):
        rows({**measured, name: []})


def test_time_that_was_not_seen_does_not_pass():
    with pytest.raises(ValueError, match="no measurable time"):
        rows(costs(bare=0.0) | {BARE: [Cost(0.0, 50.0)]})


@given(st.floats(0.1, 10), st.floats(0.01, 10), st.floats(0.01, 10), st.floats(0.1, 10))
def test_a_slower_machine_judges_alike(bare, cold, warm, factor):
    def judged(times):
        measured = {BARE: [Cost(bare * times, 1)], COLD: [Cost(cold * times, 1)], WARM: [Cost(warm * times, 1)]}
        return [(row.name, round(row.ratio, 6)) for row in rows(measured)]

    assert judged(1) == judged(factor)


def test_table_says_what_a_day_costs():
    text = rendered(rows(costs()))
    (line,) = [line for line in text.splitlines() if line.startswith(WARM)]
    assert line.removeprefix(WARM).split() == ["200", "50", "0.40", "0.50", "9.6", "min"]
