# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node's name joins again after its machine was rebooted or made anew: the code of the module slurm_rejoin."""

from __future__ import annotations

from typing import Sequence

from ansible_collections.onehpc.ondemand.plugins.module_utils import boot_marker
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import GONE_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import NodeBusyError, SlurmError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_foreign_word import (
    ForeignWord,
    foreign_word,
    stands,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_registration import (
    asking,
    cause_of,
    registered_node,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_rejoin_memory import forget, recall, remember
from ansible_collections.onehpc.ondemand.plugins.module_utils.waiting import wait_until

# Short: until its word is set again, a node that is drained has no reason.
PAUSE_SECONDS = 0.5

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "controller": {"type": "str", "required": True},
    "state": {"type": "str", "required": True, "choices": ["cleared", "restored"]},
    "memory_path": {"type": "path", "default": "/var/lib/onehpc/slurm_rejoin.json"},
    "marker_path": {"type": "path", "default": "/run/onehpc/slurm_rejoin"},
    "wait_seconds": {"type": "float", "default": 60.0},
}


def run(params: dict, check_mode: bool) -> dict:
    """params: validated. Returns the module's result. Raises SlurmError after wait_seconds without success."""
    client = SlurmClient(run=asking(params["controller"]))
    step = {"cleared": _cleared, "restored": _restored}[params["state"]]
    seconds = params["wait_seconds"]
    try:
        return wait_until(lambda: step(client, params, check_mode), SlurmError, seconds, PAUSE_SECONDS)
    except SlurmError as error:
        raise SlurmError(
            f"Node {params['name']} cannot be {params['state']} within {seconds:g} s: "
            f"{cause_of(str(error)).rstrip('.')}. See journalctl -u slurmctld on the portal."
        ) from None


def _cleared(client: SlurmClient, params: dict, check_mode: bool) -> dict:
    name = params["name"]
    word = recall(params["memory_path"], name)
    if boot_marker.is_marked(params["marker_path"]):
        return _result(False, "Since this boot's first run a record of the node is this boot's.", word)
    node = client.node(name)
    if node is None:
        why = "There is no record of an earlier boot."
    else:
        word = foreign_word(node) or word
        if word and not check_mode:
            remember(params["memory_path"], name, word)
        why = _clear(client, name, word, check_mode)
    if not check_mode:
        boot_marker.mark(params["marker_path"])
    before = {"state": node.state, "reason": node.reason} if node else {"state": "absent", "reason": ""}
    return _result(node is not None, why, word, before, {"state": "absent", "reason": ""})


def _clear(client: SlurmClient, name: str, word: ForeignWord | None, check_mode: bool) -> str:
    jobs = client.jobs()
    lost, wanted = jobs_on(jobs, name), jobs_naming(jobs, name)
    ended = f" The machine of job {_listed(lost)} is gone, so it ended." if lost else ""
    if lost and not check_mode:
        client.set_node_down(name, word.reason if word else GONE_REASON)
        wanted += jobs_on(client.jobs(), name)
    if wanted:
        return f"The record of an earlier boot stays, since job {_listed(wanted)} needs it.{ended}"
    if not check_mode:
        try:
            client.delete_node(name)
        except NodeBusyError as error:
            return f"The record of an earlier boot stays: {error}{ended}"
    return f"The record of an earlier boot is deleted.{ended}"


def jobs_on(jobs: Sequence[SlurmJob], name: str) -> list[int]:
    """Numbers of the jobs that hold the node, suspended and completing ones included."""
    return [job.job_id for job in jobs if job.is_live and name in job.nodes]


def jobs_naming(jobs: Sequence[SlurmJob], name: str) -> list[int]:
    """Numbers of the waiting jobs that ask for the node by name: without a record the next reconfigure fails them."""
    return [job.job_id for job in jobs if job.is_pending and name in job.required_nodes]


def _restored(client: SlurmClient, params: dict, check_mode: bool) -> dict:
    name = params["name"]
    word = recall(params["memory_path"], name)
    if word is None:
        return _result(False, "There is nothing to set again.", None)
    node = registered_node(client, name)
    kept = stands(word, node)
    if not check_mode:
        if not kept and word.keeps_jobs_off:
            client.drain_node(name, word.reason)
        elif not kept:
            client.set_reason(name, word.reason)
        forget(params["memory_path"])
    after = {"reason": node.reason if kept else word.reason}
    why = f"'{node.reason}' stands." if kept else f"'{word.reason}' is set again."
    return _result(True, why, word, {"reason": node.reason}, after)


def _result(changed: bool, why: str, word: ForeignWord | None, before: dict | None = None, after: dict | None = None):
    """starts_drained: how the next slurmd has to register the node."""
    return {
        "changed": changed,
        "why": why,
        "starts_drained": word is not None and word.keeps_jobs_off,
        "diff": {"before": before or {}, "after": after or {}},
    }


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)
