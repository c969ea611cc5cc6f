# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Slurm of three hosts for the tests of this folder."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from tests.integration.slurm_namespace.cluster import CONTROLLER, PROGRAMS, SlurmCluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A controller alone; tests add workers. The node table has room for six."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    assert not missing, f"not installed: {', '.join(missing)}"
    with SlurmCluster(tmp_path_factory.mktemp("cluster"), max_node_count=6) as running:
        yield running


@pytest.fixture
def client_on(cluster):
    """Makes the collection's client on a host."""

    def make(host, deadline=None):
        def run_there(argv, environment, timeout_seconds):
            return run_bounded([*cluster.command_prefix(host), *argv], environment, timeout_seconds)

        return SlurmClient(deadline, run=run_there)

    return make


@pytest.fixture
def client(client_on):
    """The collection's client on the controller's host."""
    return client_on(CONTROLLER)
