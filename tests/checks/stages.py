# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the stages: `python -m tests.checks.stages [STAGE ...]` from anywhere; without names those of every day.

The last line is `N passed, N failed`; the exit code is 0 only when something passed and nothing failed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.checks.environment import ROOT, tool_environment
from tests.checks.repository import shell_scripts
from tests.checks.stage import Count, Pytest, Stage, Tool, run_stage
from tests.scenarios.changed import changed_scenarios

FLOORS = ROOT / "tests" / "floors.yml"
IMAGE_TESTS = "tests/integration/test_image.py"
LAB_TESTS = "tests/integration/test_lab.py"
SERVICE_TESTS = tuple(f"tests/integration/test_{what}.py" for what in ("release", "secrets", "service"))
ROLE_SCENARIOS = ("storage", "portal", "worker")
# What `make test` leaves out, unless it is asked for what has changed: they then run on the hosts of the roles' ones.
MORE_SCENARIOS = ("boot",)
# Needs a service of its own, so only `make test-full` runs it beside all else.
OWN_SERVICE_SCENARIOS = ("pool",)
ON_DEBIAN13 = ("-v", "--capture=no", "--release=trixie", IMAGE_TESTS, *SERVICE_TESTS)


def everyday(more: Sequence[str] = ()) -> list[Stage]:
    """The stages of `make test` in the order they run, what is quick first; with `more` scenarios in the last one."""
    return [
        Stage(
            "lint",
            (
                Tool("ruff", ("ruff", "check", ".")),
                Tool("yamllint", ("yamllint", "--strict", ".")),
                Tool("shellcheck", ("shellcheck", *map(str, shell_scripts(ROOT)))),
                Tool("ansible-lint", ("ansible-lint", "--nocolor", "--offline")),
            ),
        ),
        Stage("checks", (Pytest("checks", ("-q", "tests/checks")),)),
        Stage("unit", (Pytest("unit", ("-q", "tests/unit"), timeout_seconds=900),)),
        Stage("gates", (Pytest("gates", ("-q", "--durations=8", "tests/gates"), timeout_seconds=2400),)),
        Stage("contract", (Pytest("contract", ("-q", "tests/contract")),)),
        Stage("slurm", (Pytest("slurm", ("-q", "tests/integration/slurm_namespace")),)),
        Stage("lab", (Pytest("lab", ("-q", IMAGE_TESTS, LAB_TESTS), timeout_seconds=1500),)),
        Stage("service", (Pytest("service", ("-v", "--capture=no", *SERVICE_TESTS), timeout_seconds=3600),)),
        _scenarios("molecule", [*ROLE_SCENARIOS, *more]),
    ]


def more_scenarios() -> list[Stage]:
    """Each scenario that `make test` leaves out, alone on hosts of its own."""
    return [_scenarios(name, [name]) for name in (*MORE_SCENARIOS, *OWN_SERVICE_SCENARIOS)]


def measurements() -> list[Stage]:
    """Figures with a bar: thousands of simulated hours of the pool, and what a tick costs on a machine not too busy."""
    simulated = ("-q", "--capture=no", "tests/simulation/test_simulate.py")
    return [
        Stage("simulate", (Pytest("simulate", simulated, timeout_seconds=3600),)),
        Stage("bench", (Pytest("bench", ("-q", "--capture=no", "tests/bench")),)),
    ]


def other_releases() -> list[Stage]:
    """The service on hosts of another release than Debian 12: as long as all that `make test` does with hosts."""
    return [Stage("debian13", (Pytest("debian13", ON_DEBIAN13, timeout_seconds=3600),))]


def _scenarios(stage: str, names: list[str]) -> Stage:
    arguments = ("-v", "--capture=no", "tests/scenarios", f"--scenarios={','.join(names)}")
    scenario_seconds = sum(2400 if name in OWN_SERVICE_SCENARIOS else 900 for name in names)
    return Stage(stage, (Pytest(stage, arguments, timeout_seconds=1200 + scenario_seconds),))


def read_floors(path: Path) -> dict[str, int]:
    """Stage name -> fewest tests that must pass (at least 1); ValueError on anything else."""
    floors = yaml.safe_load(path.read_text())
    if not isinstance(floors, dict):
        raise ValueError(f"{path}: expected `stage: number` lines")
    for name, floor in floors.items():
        if not isinstance(floor, int) or isinstance(floor, bool) or floor < 1:
            raise ValueError(f"{path}: the floor of {name} is {floor!r}; a whole number of at least 1 is expected")
    return floors


def run(chosen: list[Stage], floors: dict[str, int]) -> int:
    """Run `chosen`, print the closing line, return the exit code."""
    total = Count()
    for stage in chosen:
        total.add(
            run_stage(
                stage,
                floor=floors.get(stage.name),
                python=sys.executable,
                cwd=ROOT,
                environment=tool_environment(),
                say=lambda text: print(text, flush=True),
            )
        )
    for complaint in total.complaints:
        print(complaint, flush=True)
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 0 if total.passed and not total.failed else 1


def main(arguments: list[str]) -> int:
    """Command line."""
    known = {stage.name: stage for stage in [*everyday(), *more_scenarios(), *other_releases(), *measurements()]}
    parser = argparse.ArgumentParser(prog="python -m tests.checks.stages", description=__doc__.splitlines()[0])
    parser.add_argument("stage", nargs="*", help=f"of {', '.join(known)}; without: all that `make test` runs")
    parser.add_argument("--full", action="store_true", help="all stages")
    parser.add_argument("--changed", action="store_true", help="also the scenarios that the latest commits concern")
    options = parser.parse_args(arguments)
    if options.stage and (options.full or options.changed):
        parser.error("--full and --changed choose the stages themselves: name none")
    if unknown := [name for name in options.stage if name not in known]:
        parser.error(f"no stage {', '.join(unknown)}; there are {', '.join(known)}")
    more = MORE_SCENARIOS if options.full else changed_scenarios(ROOT, MORE_SCENARIOS) if options.changed else ()
    chosen = [known[name] for name in options.stage] or everyday(more)
    if options.full:
        chosen += [*map(known.get, OWN_SERVICE_SCENARIOS), *other_releases(), *measurements()]
    floors = read_floors(FLOORS)
    floors["molecule"] += sum(floors[name] for name in more)
    # Being told to end is an interrupt, so that a running stage still takes its hosts down.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(chosen, floors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
