# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that watches a host's processes while commands run there."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest

from tests.service.observation import WATCHED_RUN


@pytest.fixture(scope="module")
def seen():
    """What it saw of a command that fails and of one that another user runs for two looks."""
    commands = ["echo out; echo err >&2; exit 3", "setpriv --reuid 65534 env -i CANARY=told sleep 1.25"]
    done = subprocess.run(
        [sys.executable, "-", *commands],
        input=WATCHED_RUN.read_text(),
        text=True,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def test_output_and_exit_code_of_each_command(seen):
    outputs = [(run["code"], base64.b64decode(run["output"])) for run in seen["outputs"]]
    assert outputs == [(3, b"out\nerr\n"), (0, b"")]


def test_the_arguments_of_a_process_that_ran_meanwhile(seen):
    assert b"sleep\0001.25\0" in map(base64.b64decode, seen["arguments"])


def test_the_environment_of_another_users_process(seen):
    assert b"CANARY=told\0" in map(base64.b64decode, seen["environments"])
