# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one stage (a few commands), count each test in it and hold the count against a floor."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

GRACE_SECONDS = 180  # what a command gets to end its lab hosts after it was interrupted


@dataclass(frozen=True)
class Tool:
    """A command that counts as one test: passed when it exits 0. Its output is shown when it fails."""

    name: str
    command: tuple[str, ...]
    timeout_seconds: int = 600


@dataclass(frozen=True)
class Pytest:
    """A pytest run; each of its tests counts. Its output is shown as it comes."""

    name: str
    arguments: tuple[str, ...]
    timeout_seconds: int = 600


@dataclass(frozen=True)
class Stage:
    """Commands under one name, run in order, all of them even when one fails."""

    name: str
    commands: tuple[Tool | Pytest, ...]


@dataclass
class Count:
    """How many tests passed and failed; `complaints` says for each failure outside a test what it was."""

    passed: int = 0
    failed: int = 0
    complaints: list[str] = field(default_factory=list)

    def fail(self, complaint: str) -> None:
        """Count one failure that no test reported."""
        self.failed += 1
        self.complaints.append(complaint)

    def add(self, other: Count) -> None:
        """Add the figures and complaints of `other`."""
        self.passed += other.passed
        self.failed += other.failed
        self.complaints += other.complaints


def run_stage(
    stage: Stage,
    *,
    floor: int | None,
    python: str,
    cwd: Path,
    environment: dict[str, str],
    say: Callable[[str], None] = print,
) -> Count:
    """Run every command of `stage`; a stage below its floor, or without one, has failed."""
    started = time.monotonic()
    say(f"== {stage.name}")
    total = Count()
    for command in stage.commands:
        if isinstance(command, Tool):
            total.add(_run_tool(command, cwd, environment, say))
        else:
            total.add(_run_pytest(command, python, cwd, environment))
    if floor is None:
        total.fail(f"{stage.name}: has no floor; name one")
    elif total.passed < floor:
        total.fail(f"{stage.name}: {total.passed} tests passed, fewer than the floor of {floor}")
    for complaint in total.complaints:
        say(f"   {complaint}")
    seconds = time.monotonic() - started
    say(f"== {stage.name}: {total.passed} passed, {total.failed} failed in {seconds:.1f} s (floor {floor})")
    return total


def _run_tool(tool: Tool, cwd: Path, environment: dict[str, str], say: Callable[[str], None]) -> Count:
    started = time.monotonic()
    count = Count()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        problem = _run(tool.command, tool.timeout_seconds, cwd, environment, output)
        if problem is None:
            count.passed = 1
        else:
            output.seek(0)
            say(output.read().rstrip())
            count.fail(f"{tool.name}: {problem}")
    say(f"   {tool.name}: {'failed' if count.failed else 'ok'} ({time.monotonic() - started:.1f} s)")
    return count


def _run_pytest(run: Pytest, python: str, cwd: Path, environment: dict[str, str]) -> Count:
    with tempfile.TemporaryDirectory(prefix="stage-") as folder:
        report = Path(folder) / "report.xml"
        command = (python, "-m", "pytest", f"--junitxml={report}", *run.arguments)
        problem = _run(command, run.timeout_seconds, cwd, environment, None)
        count = read_report(report)
    if problem is not None and count.failed == 0:
        count.fail(f"{run.name}: {problem}")
    elif problem is None and count.passed + count.failed == 0:
        count.fail(f"{run.name}: ran no test")
    return count


def _run(command: tuple[str, ...], timeout_seconds: int, cwd: Path, environment: dict[str, str], output) -> str | None:
    """None when the command exited 0, else what went wrong. It is always ended on return."""
    try:
        errors = None if output is None else subprocess.STDOUT
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
        )
    except OSError as error:
        return f"cannot be started: {error}"
    try:
        code = process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return f"did not end within {timeout_seconds} s"
    except BaseException:
        _end(process)
        raise
    return None if code == 0 else f"exit code {code}"


def _end(process: subprocess.Popen) -> None:
    process.terminate()  # tests/conftest.py makes it an interrupt, so pytest still runs its teardowns
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read_report(report: Path) -> Count:
    """Count the tests of a JUnit report. Skipped tests count as nothing; no report, no tests.

    A test that fails and whose teardown fails too is one `testcase` with both marks: one failure.
    """
    try:
        root = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return Count()
    count = Count()
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed += 1
        elif case.find("skipped") is None:
            count.passed += 1
    return count
