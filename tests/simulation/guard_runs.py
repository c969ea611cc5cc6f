# SPDX-License-Identifier: GPL-3.0-or-later
"""Each guard switched off must be missed: the same schedules that pass with it fail without it."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.generator import schedule_from_seed
from tests.simulation.guards import GUARDS, Guard
from tests.simulation.world import World

#: So many of the schedules must fail without a guard.
NEEDED = 20
SCHEDULES = 3000
BATCH = 10


def failures_without(index: int, first: int, count: int) -> list[tuple[int, str]]:
    """Seeds that fail without a guard, each with the rule that was violated first."""
    logging.disable(logging.CRITICAL)
    guard = GUARDS[index]
    found = []
    with guard.off():
        for seed in range(first, first + count):
            violations = World(schedule_from_seed(seed, guard.mode), stops=True).run().violations
            if violations:
                found.append((seed, violations[0].what))
    return found


def misses(guard: Guard, say: Callable[[str], None], needed: int = NEEDED, schedules: int = SCHEDULES) -> int:
    """Run schedules without the guard until enough have failed; how many did."""
    index = GUARDS.index(guard)
    processes = os.cpu_count() or 1
    began, run = time.monotonic(), 0
    failed: list[tuple[int, str]] = []
    with ProcessPoolExecutor(processes) as executor:
        while len(failed) < needed and run < schedules:
            end = min(run + BATCH * processes, schedules)
            starts = range(run, end, BATCH)
            for found in executor.map(failures_without, [index] * len(starts), starts, [BATCH] * len(starts)):
                failed += found
            run = end
    whats = "; ".join(f"{count} x {what}" for what, count in Counter(what for _, what in failed).most_common(2))
    seconds = time.monotonic() - began
    say(f"without '{guard.name}': {len(failed)} of {run} schedules fail in {seconds:.0f} s ({whats or 'none'})")
    return len(failed)


def check_guards(names: list[str], say: Callable[[str], None]) -> int:
    """Look at the guards of these names, or at all; the exit code."""
    chosen = [guard for guard in GUARDS if not names or guard.name in names]
    missed = [guard.name for guard in chosen if misses(guard, say) < NEEDED]
    for name in missed:
        say(f"'{name}' is not missed by {NEEDED} schedules")
    return 1 if missed or not chosen else 0
