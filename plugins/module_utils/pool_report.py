# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One tick of a worker: read Slurm and OneGate, decide, change at most one thing, publish once."""

from __future__ import annotations

import time
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_change import ChangeOutcome, make_change
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import (
    OLDEST_IDLE,
    REPORT_TIME,
    SLURM_PENDING,
    neutral_figures,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_memory_file import (
    read_memory_file,
    write_memory_file,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import node_name
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import (
    WorkerDecision,
    WorkerPolicy,
    WorkerReading,
    decide_worker,
    is_returning,
    memory_after_change,
    memory_after_publication,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import worker_memory_from_json
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
    "idle_seconds": {"type": "int", "default": 600},
    "drain_seconds": {"type": "int", "default": 600},
    "min_vms": {"type": "int", "default": 1},
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
    slurm = SlurmClient(deadline)
    client = client_of({**params, "timeout_seconds": _call_seconds(deadline)})
    read_at = int(now())
    vm = client.get_vm()
    _require_own_name(params["node_name"], policy, vm)
    client.timeout_seconds = _call_seconds(deadline)
    service = client.get_service()
    reading = WorkerReading(now=read_at, slurm=read_slurm(slurm), service=service, vm=vm)
    decision = decide_worker(policy, reading, memory)
    if check_mode:
        return _result(reading, decision, None)
    outcome = make_change(slurm, decision.change) if decision.change else None
    change_was_made = outcome is not None and outcome.made
    memory = memory_after_change(decision, policy, reading) if change_was_made else decision.memory
    try:
        client.timeout_seconds = _call_seconds(deadline)
        _publish(client, vm, decision, int(now()))
        memory = memory_after_publication(
            memory, is_returning(decision, change_was_made, reading), decision.oldest_idle, int(now())
        )
    finally:
        write_memory_file(params["memory_path"], memory.to_json())
    return _result(reading, decision, outcome)


def _policy(params: dict) -> WorkerPolicy:
    if params["min_vms"] < 1:
        raise PoolError(
            "min_vms is below 1: without a worker nobody would publish the figures by which OneFlow scales the pool."
        )
    for name in ("idle_seconds", "drain_seconds"):
        if params[name] < 0:
            raise PoolError(f"{name} is below 0.")
    return WorkerPolicy(
        node_prefix=params["node_prefix"],
        idle_seconds=params["idle_seconds"],
        drain_seconds=params["drain_seconds"],
        min_vms=params["min_vms"],
    )


def _require_own_name(name: str, policy: WorkerPolicy, vm: Vm) -> None:
    expected = node_name(policy.node_prefix, vm.id)
    if name != expected:
        raise PoolError(f"This worker is VM {vm.id}, so its node must be {expected}, but node_name is {name}.")


def _call_seconds(deadline: Deadline) -> float:
    return max(0.5, min(CALL_SECONDS, deadline.remaining_seconds))


def _publish(client: OneGateClient, vm: Vm, decision: WorkerDecision, report_time: int) -> None:
    """One update; OLDEST_IDLE is read back when it changes, since OneFlow removes a VM by it."""
    client.put_vm({SLURM_PENDING: decision.pending, OLDEST_IDLE: decision.oldest_idle, REPORT_TIME: report_time})
    wanted = str(decision.oldest_idle)
    if vm.user_template.get(OLDEST_IDLE) == wanted:
        return
    stored = client.get_vm().user_template.get(OLDEST_IDLE)
    if stored != wanted:
        raise OneGateError(
            "GET",
            "/vm",
            client.endpoint,
            200,
            f"OneGate at {client.endpoint} took OLDEST_IDLE={wanted} for VM {vm.id} but shows {stored!r}: something "
            "else writes it.",
        )


def _publish_neutral(params: dict, check_mode: bool, now: Callable[[], float]) -> str:
    """Publish 0 for everything; returns a sentence about it, since this must not hide the first failure."""
    if check_mode:
        return "Check mode: no neutral figures were published."
    try:
        client_of({**params, "timeout_seconds": RESERVE_SECONDS - 1}).put_vm(neutral_figures(int(now())))
    except Exception as error:
        return f"Neutral figures could not be published either: {error}"
    return "Neutral figures were published."


def _result(reading: WorkerReading, decision: WorkerDecision, outcome: ChangeOutcome | None) -> dict:
    before = {name: reading.vm.user_template.get(name) for name in (SLURM_PENDING, OLDEST_IDLE)}
    after = {SLURM_PENDING: str(decision.pending), OLDEST_IDLE: str(decision.oldest_idle)}
    change = decision.change
    made = change is not None and (outcome is None or outcome.made)
    node = reading.slurm.machine(decision.memory.node_name) if reading.slurm else None
    shown_before = {**before, "node": _shown(node.reason if node else None)}
    shown_after = {**after, "node": _shown(change.reason) if change is not None and made else shown_before["node"]}
    why = decision.why if outcome is None or outcome.made else f"{decision.why} {outcome.said}"
    return {
        "changed": made or before != after,
        "figures": {SLURM_PENDING: decision.pending, OLDEST_IDLE: decision.oldest_idle},
        "change": {"kind": change.kind, "node": change.node_name, "reason": change.reason} if change and made else None,
        "why": why,
        "controller_up": reading.slurm is not None,
        "service_state": reading.service.state_name,
        "role": getattr(reading.service.role_of(reading.vm.id), "name", None),
        "diff": {"before": shown_before, "after": shown_after},
    }


def _shown(reason: str | None) -> str:
    return "not registered" if reason is None else reason or "in service"
