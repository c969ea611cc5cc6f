# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read out of molecule's output, and in which order the scenarios run."""

from __future__ import annotations

import subprocess

import pytest

from tests.scenarios import molecule as scenarios
from tests.scenarios.molecule import Log, in_order, molecule, sequence

OUTPUT = """\
INFO     [default > create] Executing
INFO     [default > create] Executed: Successful
INFO     [storage > verify] Executing
TASK [storage : Verify] Executing
INFO     [storage > verify] Executed: Successful
INFO     [portal > idempotence] Executing
CRITICAL Idempotence test failed because of the following tasks:
ERROR    [portal > idempotence] \x1b[31mExecuted: Failed\x1b[0m
INFO     [worker > check] Executing

DETAILS
portal > idempotence: Executed: Successful
"""


@pytest.fixture
def log():
    seconds = iter(range(0, 10_000, 60))
    log = Log(now=lambda: next(seconds))
    for line in OUTPUT.splitlines():
        log.read(line)
    return log


@pytest.mark.parametrize(
    ("scenario", "action", "result"),
    [
        ("storage", "verify", "Successful"),
        ("portal", "idempotence", "Failed"),
        ("worker", "check", "did not run"),
        ("worker", "verify", "did not run"),
    ],
)
def test_what_is_logged_after_an_action_counts_not_the_recap(log, scenario, action, result):
    assert log.result(scenario, action) == result


def test_each_scenario_has_its_minutes(log):
    assert list(log.minutes()) == [
        "scenario default: 1.0 min (create 1.0)",
        "scenario storage: 1.0 min (verify 1.0)",
        "scenario portal: 1.0 min (idempotence 1.0)",
    ]


def test_a_role_comes_after_those_it_relies_on():
    assert in_order(["boot", "worker", "portal", "storage"]) == ["storage", "portal", "worker", "boot"]


@pytest.mark.parametrize("role", ["storage", "portal", "worker"])
def test_a_role_is_checked_on_a_fresh_host_before_it_is_configured(role):
    assert sequence(role) == ["prepare", "check", "converge", "idempotence", "verify"]


def test_molecule_is_ended_with_what_it_has_started(tmp_path, monkeypatch):
    program = tmp_path / "molecule"
    # The lock is held for as long as one of its processes lives.
    program.write_text("#!/bin/sh\nexec 9>$LOCK\nflock 9\nsleep 600 &\necho '[a > check] Executed: Failed'\nwait\n")
    program.chmod(0o755)
    lock = tmp_path / "lock"
    monkeypatch.setattr(scenarios, "_environment", lambda: {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOCK": str(lock)})
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    log = Log()

    def interrupt(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        molecule([], log, interrupt)
    assert log.result("a", "check") == "Failed"
    assert subprocess.run(["flock", "--timeout", "10", str(lock), "true"], check=False).returncode == 0
