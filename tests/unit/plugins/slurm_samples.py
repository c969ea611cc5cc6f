# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded output of Slurm 22.05 and 24.11."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import parse_jobs
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import parse_nodes

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
VERSIONS = ("22.05", "24.11")
# The token of the recordings; a real call has a new one each time.
TOKEN = "4f1c2a"


def recorded(version, scenario, what):
    """The bytes that one call of a scenario printed; what: ping, nodes or squeue."""
    return (SAMPLES / "pool-call" / version / f"{scenario}.{what}.txt").read_bytes()


def recorded_reading(version, scenario):
    """A scenario as the pool reads it."""
    return SlurmReading(
        nodes=parse_nodes(recorded(version, scenario, "nodes")),
        jobs=parse_jobs(recorded(version, scenario, "squeue"), TOKEN),
    )
