# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of the simulation."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tests.checks.environment import ROOT
from tests.simulation.comparison import compare
from tests.simulation.floors import missing_of
from tests.simulation.generator import schedule_from_seed
from tests.simulation.guard_runs import check_guards
from tests.simulation.picture import picture_of
from tests.simulation.runs import Outcome, run_ranges
from tests.simulation.shrinking import fails_like, shrink, story_of
from tests.simulation.world import World

OUTPUT = ROOT / "tests" / "output" / "simulation"
PROGRESS = OUTPUT / "progress.jsonl"
SHOWN_FAILURES = 12


def main(arguments: list[str]) -> int:
    """Return the exit code: 0 only when everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="many schedules; a run that was cut off goes on where it was")
    run.add_argument("--schedules", type=int, default=3000)
    run.add_argument("--first", type=int, default=0, help="the first seed")
    run.add_argument("--processes", type=int)
    run.add_argument("--anew", action="store_true", help="forget what was run before")
    for name, told in (("story", "a failing seed, made short"), ("picture", "a seed as an SVG")):
        one = commands.add_parser(name, help=told)
        one.add_argument("--seed", type=int, required=True)
        if name == "story":
            one.add_argument("--whole", action="store_true", help="the run as it is")
    commands.add_parser("guards", help="each guard of the pool switched off must fail").add_argument(
        "guard", nargs="*", help="these alone"
    )
    commands.add_parser("compare", help="both modes side by side")
    options = parser.parse_args(arguments)
    if options.command == "run":
        return _run(options)
    if options.command == "guards":
        return check_guards(options.guard, say)
    if options.command == "compare":
        return compare(say)
    return _story(options) if options.command == "story" else _picture(options.seed)


def say(text: str) -> None:
    print(text, flush=True)


def _run(options: argparse.Namespace) -> int:
    if options.anew:
        PROGRESS.unlink(missing_ok=True)
    began = time.monotonic()
    outcome = run_ranges(options.first, options.schedules, PROGRESS, say, options.processes)
    report(outcome)
    short = missing_of(outcome)
    for sentence in short:
        say(sentence)
    say(
        f"{outcome.schedules} schedules in {time.monotonic() - began:.0f} s, {len(outcome.failed_seeds)} failed"
        + (f", {len(short)} floors were not reached" if short else "")
    )
    return 1 if outcome.failures or short else 0


def report(outcome: Outcome) -> None:
    """What was seen and what failed."""
    for name, count in sorted(outcome.counts.items()):
        say(f"{count:8d} {name}")
    for seed, sentence in sorted(outcome.limits):
        say(f"named limit, seed {seed}: {sentence}")
    for seed, sentence in sorted(outcome.failures)[:SHOWN_FAILURES]:
        say(f"seed {seed}: {sentence}")
    if outcome.failures:
        say("`python -m tests.simulation story --seed N` makes a failure short")


def _story(options: argparse.Namespace) -> int:
    schedule = schedule_from_seed(options.seed)
    if not options.whole:
        violations = World(schedule).run().violations
        if not violations:
            say(f"seed {options.seed} violates nothing")
            return 0
        schedule = shrink(schedule, fails_like(violations[0].what))
    say(story_of(schedule))
    say("\n".join(["events:", *map(str, schedule.events)]))
    return 0


def _picture(seed: int) -> int:
    path = Path(OUTPUT / f"seed-{seed}.svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture_of(schedule_from_seed(seed)), encoding="utf-8")
    say(str(path))
    return 0
