# SPDX-License-Identifier: GPL-3.0-or-later
"""How much must have happened for a run to mean anything."""

from __future__ import annotations

from tests.simulation.runs import Outcome

#: In so many schedules.
SCHEDULES = 3000
FLOORS = {
    "drains": 5000,
    "returns by a job": 2000,
    "scale-downs": 1000,
    "failed boots": 500,
    "stale reports": 500,
    "delayed readings": 300,
}


def missing_of(outcome: Outcome) -> list[str]:
    """What happened too rarely, as sentences."""
    wanted = {name: -(-floor * outcome.schedules // SCHEDULES) for name, floor in FLOORS.items()}
    return [
        f"{outcome.counts[name]} {name}, at least {floor} are expected in {outcome.schedules} schedules"
        for name, floor in wanted.items()
        if outcome.counts[name] < floor
    ]
