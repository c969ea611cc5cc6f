# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_accounting_wait at its outer door: what it waits for, and what it says when that does not come."""

from __future__ import annotations

import threading
import time

import pytest

from tests.unit.plugins.fake_slurm import FakeSlurm
from tests.unit.plugins.module_process import run_module

REFUSED = "sacctmgr: error: slurm_persist_conn_open: failed to send\nsacctmgr: error: Problem talking to the database\n"


@pytest.fixture
def slurm(tmp_path):
    fake = FakeSlurm(tmp_path / "bin")
    fake.change(clusters="old|0\nood|6817\n")
    return fake


def wait(slurm, check_mode=False, **options):
    return run_module("slurm_accounting_wait", {"wait_seconds": 0, **options}, check_mode, slurm.environment)


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("options", [{}, {"registered": "ood"}])
def test_daemons_that_are_there(slurm, options, check_mode):
    done = wait(slurm, check_mode, **options)
    assert (done.exit_code, done.result["changed"], done.result["clusters"]) == (0, False, ["old", "ood"])


def test_a_database_that_knows_no_cluster_answers_all_the_same(slurm):
    slurm.change(clusters="", ping="DOWN")
    assert wait(slurm).result["clusters"] == []


@pytest.mark.parametrize(
    ("changes", "registered", "told"),
    [
        ({"faults": {"sacctmgr": [1, "", REFUSED, 0]}}, None,
         "After 0 s slurmdbd does not answer (sacctmgr: error: Problem talking to the database). Look at journalctl -u "
         "slurmdbd -u mariadb."),
        ({"faults": {"sacctmgr": [1, "", "", 0]}}, None, "slurmdbd does not answer (no message)"),
        ({"ping": "DOWN"}, "ood", "After 0 s slurmctld does not answer. Look at journalctl -u slurmctld."),
        ({}, "old", "slurmctld has not registered cluster old with slurmdbd, which lists old at port 0, ood at port"),
        ({"clusters": ""}, "ood", "slurmctld has not registered cluster ood with slurmdbd, which lists none"),
        ({"clusters": "ood\n"}, None, "sacctmgr lists a cluster as 'ood', which is not understood"),
    ],
)  # fmt: skip
def test_what_does_not_come_is_said(slurm, changes, registered, told):
    slurm.change(**changes)
    done = wait(slurm, registered=registered)
    assert done.failed
    assert told in done.result["msg"]


def test_a_daemon_that_comes_late_is_waited_for(slurm):
    slurm.change(clusters="ood|0\n")
    comes = threading.Timer(2, lambda: slurm.change(clusters="ood|6817\n"))
    comes.start()
    begin = time.monotonic()
    done = wait(slurm, registered="ood", wait_seconds=30)
    comes.join()
    assert done.exit_code == 0, done.result
    assert 1.5 < time.monotonic() - begin < 25
