# SPDX-License-Identifier: GPL-3.0-or-later
"""Resources and GPU requests."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_tres import gpu_count, memory_mib, parse_tres


@pytest.mark.parametrize(
    ("text", "mib"),
    [("100M", 100), ("62.50G", 64000), ("65001M", 65001), ("1T", 1048576), ("0", 0), ("1K", 1), ("2049K", 3)],
)
def test_memory(text, mib):
    assert memory_mib(text) == mib


@pytest.mark.parametrize("text", ["", "-1M", "1X", "M", "1.G", "1M "])
def test_no_memory(text):
    with pytest.raises(SlurmAnswerError):
        memory_mib(text)


def test_tres():
    assert parse_tres("cpu=2,mem=1000M,node=1,gres/gpu=1") == {
        "cpu": "2", "mem": "1000M", "node": "1", "gres/gpu": "1"
    }  # fmt: skip
    assert parse_tres("") == parse_tres("N/A") == parse_tres("(null)") == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu:1", 1),
        ("gpu:tesla:2(S:0-1)", 2),
        ("gpu:a100:2,gpu:v100:1", 3),
        ("gres:gpu:1", 1),
        ("gres/gpu=4", 4),
        ("gres/gpu:a100=2", 2),
        ("cpu=1,gres/gpu=1", 1),
        ("gpu", 1),
        ("(null)", None),
        ("N/A", None),
        ("cpu=2", None),
        ("shard:4", None),
        ("gpumem:100", None),
    ],
)
def test_gpus(text, count):
    assert gpu_count(text) == count
