# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_registration at its outer door: what a node that serves is, and what is told about one that does not."""

from __future__ import annotations

import time

import pytest

from tests.unit.plugins.fake_slurm import FakeSlurm
from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.slurm_samples import recorded

CONTROLLER = "10.0.0.5:6817"


@pytest.fixture
def slurm(tmp_path):
    fake = FakeSlurm(tmp_path / "bin")
    fake.replay(recorded("22.05", "idle-no-jobs", "nodes"), b"")
    return fake


def run(slurm, name="w1", wait_seconds=0, check_mode=False):
    options = {"name": name, "controller": CONTROLLER, "wait_seconds": wait_seconds}
    return run_module("slurm_registration", options, check_mode, slurm.environment)


@pytest.mark.parametrize("check_mode", [False, True])
def test_node_that_serves(slurm, check_mode):
    done = run(slurm, check_mode=check_mode)
    assert (done.exit_code, done.result["changed"], done.result["state"]) == (0, False, "IDLE+DYNAMIC_NORM")


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "MIXED", "ALLOCATED+COMPLETING"])
def test_drained_and_busy_nodes_serve(slurm, state):
    slurm.rewrite_node("w1", "State=IDLE", f"State={state}")
    assert run(slurm).exit_code == 0


@pytest.mark.parametrize("state", ["DOWN", "IDLE+NOT_RESPONDING", "IDLE+INVALID_REG"])
def test_node_that_is_away_does_not(slurm, state):
    slurm.rewrite_node("w1", "State=IDLE", f"State={state}")
    done = run(slurm)
    assert done.failed
    assert "Node w1 does not serve after 0 s: it is " in done.result["msg"]


def test_controller_is_asked_where_no_slurmd_has_left_a_configuration(slurm):
    run(slurm)
    assert slurm.environments()[-1]["SLURM_CONF_SERVER"] == CONTROLLER


def test_node_that_is_not_registered_is_waited_for(slurm):
    begin = time.monotonic()
    done = run(slurm, name="w9", wait_seconds=3)
    assert done.failed
    assert 3 <= time.monotonic() - begin < 20
    assert done.result["msg"] == (
        "Node w9 does not serve after 3 s: it is not registered. See journalctl -u slurmd here and -u slurmctld on the "
        "portal."
    )


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("Rewound credential", "the clock of this host or of the controller is wrong"),
        ("Expired credential", "the clock of this host or of the controller is wrong"),
        ("Invalid credential", "the key of this host is not the controller's"),
        ("Zero Bytes were transmitted or received", "the clock or the key of one of them is wrong"),
        ("Unable to contact slurm controller (connect failure)", "Unable to contact slurm controller"),
    ],
)
def test_credential_that_cannot_be_used_is_told_apart(slurm, said, meaning):
    answer = [1, "", f"scontrol: error: Munge decode failed: {said}\nslurm_load_node error: failed\n", 0]
    slurm.change(faults={"scontrol": answer})
    assert meaning in run(slurm).result["msg"]
