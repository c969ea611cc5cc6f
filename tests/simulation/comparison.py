# SPDX-License-Identifier: GPL-3.0-or-later
"""Both modes side by side in the two situations where they differ most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.monitor import Sample
from tests.simulation.schedule import DIRECT, POLICIES, Event, RoleSettings, Schedule, Settings
from tests.simulation.world import World

BOOT_SECONDS = 50
JOBS = 6
SUBMITTED_AT = 600.0
SESSION_SECONDS = 12 * 3600.0
IDLE_SECONDS = 600


@dataclass(frozen=True)
class Comparison:
    """What one mode did. ``last_start_seconds``: None when not every job has started."""

    last_start_seconds: float | None = None
    workers: tuple[tuple[float, int], ...] = ()


def burst(mode: str, seed: int = 1) -> Comparison:
    """Six jobs of one worker each reach a busy pool of one between two ticks; seconds to the last start."""
    settings = Settings(
        mode=mode,
        roles=(RoleSettings("worker", 1, 1, JOBS + 1),),
        interval_seconds=30,
        idle_seconds=IDLE_SECONDS,
        boot_seconds=BOOT_SECONDS,
        duration_seconds=7200,
    )
    keeps_busy = Event(10, "submit", {"key": 0, "seconds": 7000, "exclusive": True})
    jobs = [
        Event(SUBMITTED_AT + number / 10, "submit", {"key": number, "seconds": 5000, "exclusive": True})
        for number in range(1, JOBS + 1)
    ]
    world = World(Schedule(seed, settings, (keeps_busy, *jobs)))
    starts: list[float] = []
    world.slurm.on_start = lambda job: starts.append(world.seconds)
    world.run()
    if len(starts) < JOBS + 1:
        return Comparison()
    return Comparison(last_start_seconds=round(max(starts) - SUBMITTED_AT, 1))


def long_session(mode: str, seed: int = 1) -> Comparison:
    """A session of 12 hours on the oldest of six workers and nothing else; the number of workers over time."""
    settings = Settings(
        mode=mode,
        roles=(RoleSettings("worker", 6, 1, 6),),
        interval_seconds=30,
        idle_seconds=IDLE_SECONDS,
        boot_seconds=BOOT_SECONDS,
        duration_seconds=3 * 3600,
    )
    session = Event(1, "submit", {"key": 0, "seconds": SESSION_SECONDS, "exclusive": True})
    world = World(Schedule(seed, settings, (session,)), tells=True)
    samples: list[Sample] = world.run().samples
    found: list[tuple[float, int]] = []
    for sample in samples:
        if not found or found[-1][1] != len(sample.workers):
            found.append((round(sample.seconds), len(sample.workers)))
    return Comparison(workers=tuple(found))


def compare(say: Callable[[str], None]) -> int:
    """Print both and judge them; the exit code."""
    bad = []
    say(f"{JOBS} jobs of one worker on a busy pool of 1 (at most {JOBS + 1}), boots of {BOOT_SECONDS} s:")
    for mode in (POLICIES, DIRECT):
        seconds = burst(mode).last_start_seconds
        say(f"  {mode:9} the last job starts after {'more than 6000' if seconds is None else f'{seconds:g}'} s")
        if mode == DIRECT and (seconds is None or seconds > BOOT_SECONDS + 60):
            bad.append(f"direct takes longer than {BOOT_SECONDS + 60} s")
    say(f"a session of 12 h on the oldest of 6, nothing else, {IDLE_SECONDS} s of idle time:")
    for mode in (POLICIES, DIRECT):
        workers = long_session(mode).workers
        say(f"  {mode:9} workers: " + ", ".join(f"{count} from {at} s" for at, count in workers))
        if mode == POLICIES and workers[-1][1] != 6:
            bad.append("policies has shrunk though its oldest worker is busy")
        if mode == DIRECT and (workers[-1][1] != 1 or workers[-1][0] > IDLE_SECONDS + 600):
            bad.append(f"direct is not at its minimum after {IDLE_SECONDS + 600} s")
    for sentence in bad:
        say(f"but {sentence}")
    return 1 if bad else 0
