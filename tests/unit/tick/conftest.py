# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose runner listens."""

from __future__ import annotations

import signal

import pytest

from tests.unit.tick.runner_host import RunnerHost


@pytest.fixture
def cold_host(tmp_path):
    """Nothing listens on its socket."""
    host = RunnerHost(tmp_path)
    yield host
    host.end_runner(signal.SIGKILL)


@pytest.fixture
def host(cold_host):
    cold_host.start_runner()
    return cold_host
