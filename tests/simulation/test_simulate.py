# SPDX-License-Identifier: GPL-3.0-or-later
"""`make simulate`: the whole of it. What was run before with the same code is not run again."""

from __future__ import annotations

import pytest

from tests.simulation.command import PROGRESS, report, say
from tests.simulation.comparison import compare
from tests.simulation.floors import SCHEDULES, missing_of
from tests.simulation.guard_runs import NEEDED, misses
from tests.simulation.guards import GUARDS
from tests.simulation.runs import run_ranges


def test_schedules():
    outcome = run_ranges(0, SCHEDULES, PROGRESS, say)
    report(outcome)
    assert outcome.schedules == SCHEDULES
    assert (outcome.failed_seeds, missing_of(outcome)) == ([], [])


@pytest.mark.parametrize("guard", GUARDS, ids=[guard.name for guard in GUARDS])
def test_without_a_guard(guard):
    assert misses(guard, say) >= NEEDED


def test_side_by_side():
    assert compare(say) == 0
