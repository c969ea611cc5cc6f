# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether slurmctld is there, from what was recorded."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_ping import parse_ping
from tests.unit.plugins.slurm_samples import SAMPLES, VERSIONS

DOWN = b"""\
Slurmctld(primary) at ctl is DOWN
*****************************************
** RESTORE SLURMCTLD DAEMON TO SERVICE **
*****************************************
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_ping(version):
    pings = [*SAMPLES.glob(f"pool-call/{version}/*.ping.txt"), SAMPLES / version / "scontrol_ping.txt"]
    assert len(pings) == 11
    assert all(parse_ping(ping.read_bytes()) for ping in pings)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stopped_controller(version):
    text = (SAMPLES / "pool-call" / version / "controller-down.txt").read_bytes()
    answer = text.split(b"stdout:\n")[1].split(b"stderr:")[0]
    assert answer == DOWN
    assert parse_ping(answer) is False


def test_a_second_controller_is_enough():
    assert parse_ping(b"Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n") is True


@pytest.mark.parametrize("output", [b"", b"scontrol: fatal: Could not establish a configuration source", b"is UP"])
def test_anything_else_says_nothing(output):
    with pytest.raises(SlurmAnswerError):
        parse_ping(output)
