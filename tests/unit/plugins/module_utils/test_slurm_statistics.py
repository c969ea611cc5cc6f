# SPDX-License-Identifier: GPL-3.0-or-later
"""What slurmctld holds for slurmdbd, from what was recorded."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_statistics import parse_accounting_backlog
from tests.unit.plugins.slurm_samples import SAMPLES


def test_the_recorded_backlog():
    text = (SAMPLES / "22.05" / "sdiag.txt").read_bytes()
    assert b"Agent queue size:     0\n" in text
    assert parse_accounting_backlog(text) == 7


@pytest.mark.parametrize("output", [b"", b"Agent queue size: 3\n", b"DBD Agent queue size: many\n"])
def test_anything_else_says_nothing(output):
    with pytest.raises(SlurmAnswerError):
        parse_accounting_backlog(output)
