# SPDX-License-Identifier: GPL-3.0-or-later
"""The service that `python -m tests.scenarios.hosts prepare pool` has left running, and a second one beside it."""

from __future__ import annotations

import pytest

from tests.pool.bench import PoolBench
from tests.pool.template import DIRECT_INPUTS
from tests.scenarios.hosts import run_directory
from tests.service.progress import Progress
from tests.service.service import Service


@pytest.fixture(scope="session")
def pool():
    """Its pool, with each role at its minimum."""
    directory = run_directory()
    if directory is None:
        pytest.fail("there are no hosts: run `molecule --base-config molecule/config.yml test --scenario-name pool`")
    progress = Progress(say=lambda text: print(f"\n    {text}", end="", flush=True))
    return PoolBench(Service(directory, progress))


@pytest.fixture(scope="session", autouse=True)
def direct_service(pool):
    """A service of the collection's template as it is, in the other scaling mode. It boots while others are tested."""
    return pool.service.another(DIRECT_INPUTS)
