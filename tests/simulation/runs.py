# SPDX-License-Identifier: GPL-3.0-or-later
"""Many schedules on all cores, in ranges of seeds that a file remembers, so that a long run can be resumed."""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.checks.environment import ROOT
from tests.simulation.generator import schedule_from_seed
from tests.simulation.world import World

RANGE = 25
SOURCES = ("plugins/module_utils", "tests/opennebula", "tests/simulation")


@dataclass
class Outcome:
    """What was seen. ``failures``: sentences with their seeds; ``limits``: kills that the contract allows."""

    schedules: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    limits: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.schedules += other.schedules
        self.counts.update(other.counts)
        self.failures += other.failures
        self.limits += other.limits

    @property
    def failed_seeds(self) -> list[int]:
        return sorted({seed for seed, _ in self.failures})

    def to_json(self) -> dict[str, Any]:
        return {
            "schedules": self.schedules,
            "counts": self.counts,
            "failures": self.failures,
            "limits": self.limits,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Outcome:
        return Outcome(
            data["schedules"],
            Counter(data["counts"]),
            [(seed, text) for seed, text in data["failures"]],
            [(seed, text) for seed, text in data["limits"]],
        )


Switch = Callable[[], AbstractContextManager[Any]]


def run_seeds(seeds: Iterable[int], switch: Switch = nullcontext) -> Outcome:
    """Run these schedules here, one after the other."""
    logging.disable(logging.CRITICAL)
    gc.set_threshold(100_000, 20, 20)
    outcome = Outcome()
    with switch():
        for seed in seeds:
            schedule = schedule_from_seed(seed)
            monitor = World(schedule).run()
            outcome.schedules += 1
            outcome.counts.update(monitor.counts)
            outcome.counts[f"schedules in {schedule.settings.mode}"] += 1
            outcome.failures += [(seed, str(violation)) for violation in monitor.violations]
            outcome.limits += [(seed, sentence) for sentence in monitor.killed_in_limits]
    return outcome


def run_ranges(
    first: int, schedules: int, progress: Path | None, say: Callable[[str], None], processes: int | None = None
) -> Outcome:
    """Run the schedules of seeds ``first`` and up; ranges that the file remembers are not run again."""
    digest()
    ranges = [(begin, min(begin + RANGE, first + schedules)) for begin in range(first, first + schedules, RANGE)]
    done = dict(_remembered(progress))
    total = Outcome()
    for key in ranges:
        if key in done:
            total.add(done[key])
    missing = [key for key in ranges if key not in done]
    if len(missing) < len(ranges):
        say(f"{total.schedules} schedules were run before")
    with ProcessPoolExecutor(processes or os.cpu_count()) as executor:
        waiting = {executor.submit(run_seeds, range(*key)): key for key in missing}
        try:
            for future in as_completed(waiting):
                outcome = future.result()
                total.add(outcome)
                _remember(progress, waiting[future], outcome)
                if total.schedules % 500 < RANGE:
                    say(f"{total.schedules} of {schedules} schedules, {len(total.failed_seeds)} failed")
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return total


@functools.cache
def digest() -> str:
    """Of all code that decides how a run ends, as it was when it was first asked for."""
    result = hashlib.sha256()
    for directory in SOURCES:
        for path in sorted((ROOT / directory).rglob("*.py")):
            result.update(path.read_bytes())
    return result.hexdigest()[:16]


def _remembered(progress: Path | None) -> Iterator[tuple[tuple[int, int], Outcome]]:
    """The ranges that were run with the same code."""
    if progress is None or not progress.exists():
        return
    code = digest()
    for line in progress.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        if data["code"] == code:
            yield tuple(data["range"]), Outcome.from_json(data["outcome"])


def _remember(progress: Path | None, key: tuple[int, int], outcome: Outcome) -> None:
    if progress is None:
        return
    progress.parent.mkdir(parents=True, exist_ok=True)
    with progress.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"code": digest(), "range": key, "outcome": outcome.to_json()}) + "\n")
