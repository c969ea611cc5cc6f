# SPDX-License-Identifier: GPL-3.0-or-later
"""`pytest tests/scenarios --scenarios=storage,portal`: each action of each scenario is one test."""

from __future__ import annotations

import shutil

import pytest

from tests.scenarios import hosts
from tests.scenarios.molecule import AROUND, Log, in_order, molecule, sequence
from tests.service.service import Service


def pytest_addoption(parser):
    """The scenarios to run."""
    parser.addoption("--scenarios", required=True, type=lambda text: in_order(text.split(",")), help="names, by commas")


def pytest_generate_tests(metafunc):
    """A test for each action."""
    if {"scenario", "action"} <= set(metafunc.fixturenames):
        chosen = metafunc.config.getoption("scenarios")
        actions = [(name, action) for name in chosen for action in sequence(name)]
        around = [(AROUND, "create"), *actions, (AROUND, "destroy")]
        metafunc.parametrize(("scenario", "action"), around, ids=["-".join(pair) for pair in around])


@pytest.fixture(scope="session")
def log(request):
    """What molecule said of the scenarios, all run on one set of hosts."""
    log = Log()
    names = [part for name in request.config.getoption("scenarios") for part in ("--scenario-name", name)]
    hosts.down()
    shutil.rmtree(hosts.FOLDER, ignore_errors=True)
    try:
        failed = molecule(["test", "--destroy=never", *names], log, say) != 0
        directory = hosts.run_directory()
        if failed and directory:
            say(Service(directory).logs())
        molecule(["destroy"], log, say)
    finally:
        hosts.down()
    say("\n".join(["", *log.minutes()]))
    return log


def say(text):
    """Print at once."""
    print(text, flush=True)
