# SPDX-License-Identifier: GPL-3.0-or-later
"""What was read while the demo's story happened."""

from __future__ import annotations

from dataclasses import dataclass, field

# How the reason of a drain begins that a worker makes by itself.
OUR_DRAIN = "onehpc:policies"


@dataclass
class Story:
    """Workers are VM ids; jobs and nodes are records of scontrol."""

    first_worker: int = -1
    second_worker: int = -1
    first_job: dict[str, str] = field(default_factory=dict)
    second_job_waiting: dict[str, str] = field(default_factory=dict)
    second_job_started: dict[str, str] = field(default_factory=dict)
    second_job: dict[str, str] = field(default_factory=dict)
    job_output: dict[str, str] = field(default_factory=dict)
    boot_ids: dict[int, str] = field(default_factory=dict)
    kernel_starts: dict[int, str] = field(default_factory=dict)  # VM id -> first line of its kernel, with its time
    first_node: dict[str, str] = field(default_factory=dict)
    first_node_drained: dict[str, str] = field(default_factory=dict)
    second_node: dict[str, str] = field(default_factory=dict)
    second_job_after_removal: dict[str, str] = field(default_factory=dict)
    nodes_after_removal: list[str] = field(default_factory=list)
    node_gone_time: float = 0.0
    all_jobs: list[dict[str, str]] = field(default_factory=list)
    accounted: dict[int, str] = field(default_factory=dict)  # job id -> state in the accounting database
    events: list[dict] = field(default_factory=list)
