# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of molecule's scenarios, each configured for its role."""

from __future__ import annotations

import pytest

from tests.scenarios.hosts import run_directory
from tests.service.service import Service


@pytest.fixture(scope="session")
def service():
    """The service that `python -m tests.scenarios.hosts prepare boot` has left running."""
    directory = run_directory()
    if directory is None:
        pytest.fail("there are no hosts: run `molecule --base-config molecule/config.yml test --scenario-name boot`")
    return Service(directory)
