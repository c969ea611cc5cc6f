# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A worker leaves: neutral figures, then its own node is deleted if no job and nobody's word would be lost."""

from __future__ import annotations

import time
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import neutral_figures
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import NodeBusyError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_read import read_slurm

PUBLISH_SECONDS = 5.0

ARGUMENTS = {
    **ONEGATE_ARGUMENTS,
    "timeout_seconds": {"type": "float", "default": 20.0},
    "node_name": {"type": "str", "required": True},
}


def run(params: dict, check_mode: bool, now: Callable[[], float] = time.time) -> dict:
    """The two steps, each tried whatever became of the other. Returns the module's result.

    :raises PoolError: what failed, after both were tried.
    """
    deadline = Deadline(params["timeout_seconds"])
    failures: list[str] = []
    published = False
    try:
        if not check_mode:
            seconds = min(PUBLISH_SECONDS, params["timeout_seconds"] / 2)
            client_of({**params, "timeout_seconds": seconds}).put_vm(neutral_figures(int(now())))
        published = True
    except OnehpcError as error:
        failures.append(str(error))
    deleted, why, before = False, "", "unknown"
    try:
        deleted, why, before = _leave_slurm(params["node_name"], SlurmClient(deadline), check_mode)
    except OnehpcError as error:
        failures.append(str(error))
    if failures:
        raise PoolError(" ".join([*failures, why]).strip())
    return {
        "changed": deleted or published,
        "deleted": deleted,
        "why": why,
        "diff": {"before": {"node": before}, "after": {"node": "absent" if deleted else before}},
    }


def _leave_slurm(node_name: str, slurm: SlurmClient, check_mode: bool) -> tuple[bool, str, str]:
    """Return whether the node was deleted, a sentence about it, and its state before."""
    reading = read_slurm(slurm)
    if reading is None:
        return False, "slurmctld does not answer: the node is left to the portal.", "unknown"
    node = reading.machine(node_name)
    before = node.state if node else "absent"
    obstacle = obstacle_to_leave(reading, node_name)
    if obstacle:
        return False, obstacle, before
    if not check_mode:
        try:
            slurm.delete_node(node_name)
        except NodeBusyError as error:
            return False, str(error), before
    return True, f"Node {node_name} was deleted.", before


def obstacle_to_leave(reading: SlurmReading, node_name: str) -> str:
    """What keeps the node from being deleted by its own worker, "" when nothing does."""
    node = reading.machine(node_name)
    if node is None:
        return f"Node {node_name} is not registered."
    jobs = (*reading.live_jobs_on(node_name), *reading.pending_jobs_naming(node_name))
    if jobs:
        return f"Node {node_name} stays: job {', '.join(str(job.job_id) for job in jobs)} is on it or asks for it."
    if not node.is_untouched and node.reason not in DRAIN_REASONS:
        return f"Node {node_name} stays: {node.reason_user or 'someone'} left the reason '{node.reason}' on it."
    return ""
