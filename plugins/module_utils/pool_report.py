# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One tick of a worker: probe, read OneGate and Slurm, decide, change at most one thing, publish once."""

from __future__ import annotations

import time
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_change import make_change
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import neutral_figures
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import judge_health
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health_probes import ProbeSettings, probe_health
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_memory_file import (
    read_memory_file,
    write_memory_file,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import node_name
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_report_publish import publish
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_report_result import result_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import POLICIES, SCALING_MODES
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import (
    decide_worker,
    is_returning,
    memory_after_change,
    memory_after_publication,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import worker_memory_from_json
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import WorkerPolicy, WorkerReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_read import read_slurm

# What is kept for the neutral figures of a tick that failed.
RESERVE_SECONDS = 6.0
CALL_SECONDS = 8.0

ARGUMENTS = {
    **ONEGATE_ARGUMENTS,
    "timeout_seconds": {"type": "float", "default": 25.0},
    "node_name": {"type": "str", "required": True},
    "node_prefix": {"type": "str", "required": True},
    "scaling": {"type": "str", "default": POLICIES, "choices": list(SCALING_MODES)},
    "idle_seconds": {"type": "int", "default": 600},
    "drain_seconds": {"type": "int", "default": 600},
    "min_vms": {"type": "int", "default": 1},
    "max_vms": {"type": "int", "default": 0},
    "home_path": {"type": "str", "default": "/home"},
    "catalogue_path": {"type": "str", "default": ""},
    "probe_user": {"type": "str", "default": "nobody"},
    "probe_path": {"type": "path", "default": "/run/onehpc/pool_probe"},
    "memory_path": {"type": "path", "default": "/var/lib/onehpc/pool_report.json"},
}


def run(params: dict, check_mode: bool, now: Callable[[], float] = time.time) -> dict:
    """The tick. params: validated module parameters; now: the wall clock.

    Returns the module's result. When anything fails, neutral figures are published by a way that needs neither
    Slurm nor a decision, and OnehpcError is raised.
    """
    deadline = Deadline(max(1.0, params["timeout_seconds"] - RESERVE_SECONDS))
    try:
        return _tick(params, check_mode, now, deadline)
    except Exception as error:
        sentence = str(error) if isinstance(error, OnehpcError) else f"Unexpected {type(error).__name__}: {error}"
        raise PoolError(f"{sentence.rstrip('.')}. {_publish_neutral(params, check_mode, now)}") from error


def _tick(params: dict, check_mode: bool, now: Callable[[], float], deadline: Deadline) -> dict:
    policy = _policy(params)
    memory = worker_memory_from_json(read_memory_file(params["memory_path"]), params["node_name"])
    health = judge_health(probe_health(_probe_settings(params)))
    slurm = SlurmClient(deadline)
    client = client_of({**params, "timeout_seconds": _call_seconds(deadline)})
    read_at = int(now())
    vm = client.get_vm()
    _require_own_name(params["node_name"], policy, vm)
    client.timeout_seconds = _call_seconds(deadline)
    service = client.get_service()
    reading = WorkerReading(read_at, read_slurm(slurm), service, vm, health)
    decision = decide_worker(policy, reading, memory)
    if check_mode:
        return result_of(reading, decision, params["node_name"], None)
    outcome = None
    if decision.change is not None:
        found_reason = reading.slurm.machine(decision.change.node_name).reason
        outcome = make_change(slurm, decision.change, found_reason)
    change_was_made = outcome is not None and outcome.made
    memory = memory_after_change(decision, policy, reading) if change_was_made else decision.memory
    try:
        client.timeout_seconds = _call_seconds(deadline)
        publish(client, vm, decision.figures, params["node_name"], int(now()))
        memory = memory_after_publication(
            memory, is_returning(decision, change_was_made, reading), decision.figures.oldest_idle, int(now())
        )
    finally:
        write_memory_file(params["memory_path"], memory.to_json())
    return result_of(reading, decision, params["node_name"], outcome)


def _policy(params: dict) -> WorkerPolicy:
    if params["min_vms"] < 1:
        raise PoolError(
            "min_vms is below 1: without a worker nobody would publish the figures by which OneFlow scales the pool."
        )
    for name in ("idle_seconds", "drain_seconds", "max_vms"):
        if params[name] < 0:
            raise PoolError(f"{name} is below 0.")
    return WorkerPolicy(
        node_prefix=params["node_prefix"],
        idle_seconds=params["idle_seconds"],
        drain_seconds=params["drain_seconds"],
        min_vms=params["min_vms"],
        scaling=params["scaling"],
        max_vms=params["max_vms"],
    )


def _probe_settings(params: dict) -> ProbeSettings:
    return ProbeSettings(params["home_path"], params["catalogue_path"], params["probe_user"], params["probe_path"])


def _require_own_name(name: str, policy: WorkerPolicy, vm: Vm) -> None:
    expected = node_name(policy.node_prefix, vm.id)
    if name != expected:
        raise PoolError(f"This worker is VM {vm.id}, so its node must be {expected}, but node_name is {name}.")


def _call_seconds(deadline: Deadline) -> float:
    return max(0.5, min(CALL_SECONDS, deadline.remaining_seconds))


def _publish_neutral(params: dict, check_mode: bool, now: Callable[[], float]) -> str:
    """Publish 0 for everything; returns a sentence about it, since this must not hide the first failure."""
    if check_mode:
        return "Check mode: no neutral figures were published."
    try:
        client_of({**params, "timeout_seconds": RESERVE_SECONDS - 1}).put_vm(neutral_figures(int(now())))
    except Exception as error:
        return f"Neutral figures could not be published either: {error}"
    return "Neutral figures were published."
