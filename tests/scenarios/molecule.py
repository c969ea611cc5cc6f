# SPDX-License-Identifier: GPL-3.0-or-later
"""Running molecule's scenarios on one set of hosts, and what each of their actions came to."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import yaml

from tests.checks.environment import ROOT, tool_environment
from tests.scenarios.hosts import FOLDER

SCENARIOS = ROOT / "molecule"
CONFIG = SCENARIOS / "config.yml"
# The scenario that boots and ends the hosts of all others.
AROUND = "default"
# A role after those it relies on: the other way round each scenario would need hosts of its own.
ORDER = ("storage", "portal", "worker")
END_SECONDS = 20

# Molecule's recap counts an idempotence that failed as successful, so what it logs after each action counts.
_EXECUTING = re.compile(r"\[(?P<scenario>\S+) > (?P<action>\w+)\] Executing$")
_EXECUTED = re.compile(r"\[(?P<scenario>\S+) > (?P<action>\w+)\] Executed: (?P<result>\w+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Action:
    """One action of a scenario that has ended. result is molecule's word for it: Successful, Failed, ..."""

    scenario: str
    name: str
    result: str
    seconds: float


@dataclass
class Log:
    """Reads molecule's output, line by line as it comes."""

    now: Callable[[], float] = time.monotonic
    actions: list[Action] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)
    _started: float = 0.0

    def read(self, line: str) -> None:
        """Take note of an action that begins or ends."""
        text = _COLOUR.sub("", line).rstrip()
        if _EXECUTING.search(text):
            self._started = self.now()
        elif match := _EXECUTED.search(text):
            seconds = self.now() - self._started
            self.actions.append(Action(match["scenario"], match["action"], match["result"], seconds))

    def result(self, scenario: str, action: str) -> str:
        """What the action came to at last, `did not run` when it has not ended."""
        found = [each.result for each in self.actions if (each.scenario, each.name) == (scenario, action)]
        return found[-1] if found else "did not run"

    def minutes(self) -> Iterable[str]:
        """A line for each scenario with the minutes it took, and those of each action."""
        for scenario in dict.fromkeys(action.scenario for action in self.actions):
            actions = [action for action in self.actions if action.scenario == scenario]
            parts = ", ".join(f"{action.name} {action.seconds / 60:.1f}" for action in actions)
            yield f"scenario {scenario}: {sum(action.seconds for action in actions) / 60:.1f} min ({parts})"


def in_order(scenarios: Iterable[str]) -> list[str]:
    """The roles' scenarios first, each after those it relies on."""
    return sorted(scenarios, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def sequence(scenario: str) -> list[str]:
    """Actions of a scenario's test, in order, without those that AROUND does for all."""
    shared, own = (yaml.safe_load(path.read_text()) for path in (CONFIG, SCENARIOS / scenario / "molecule.yml"))
    actions = (own.get("scenario") or shared["scenario"])["test_sequence"]
    return [action for action in actions if action not in ("create", "destroy")]


def molecule(arguments: Sequence[str], log: Log, say: Callable[[str], None]) -> int:
    """Run molecule, say its output as it comes, return its exit code, which the log gets too. It is ended on return."""
    process = subprocess.Popen(
        ("molecule", "--base-config", str(CONFIG), *arguments),
        cwd=ROOT,
        env=_environment(),
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        for line in process.stdout:
            log.read(line)
            say(line.rstrip("\n"))
        log.exit_codes.append(process.wait())
        return log.exit_codes[-1]
    finally:
        _end(process)


def _environment() -> dict[str, str]:
    """Everything that molecule and Ansible write stays in the checkout; scenarios are where molecule does not look."""
    return {
        **tool_environment(),
        "ANSIBLE_HOME": str(FOLDER / "ansible"),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(FOLDER / "state"),
        "MOLECULE_GLOB": "molecule/*/molecule.yml",
        "MOLECULE_COMMAND_BORDERS": "0",
        "NO_COLOR": "1",
    }


def _end(process: subprocess.Popen) -> None:
    """End the whole session, playbooks included, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    process.stdout.close()
