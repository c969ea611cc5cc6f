# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One tick of the portal: nodes of vanished VMs go, placeholders stay right, and in mode direct the pool is scaled."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import DirectMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_publish import publish_frozen
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_memory_file import (
    read_memory_file,
    write_memory_file,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_onegate_read import has_departed, read_vms
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import (
    PortalDecision,
    decide_portal,
    vm_ids_to_ask_for,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_line import (
    change_clause,
    figures_of,
    growth_clause,
    in_one_line,
    role_clause,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import (
    PortalMemory,
    portal_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reconcile_result import (
    Deeds,
    intended,
    result_of,
    unread_vm_ids,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reconcile_scale import ScaleWork
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reconcile_work import ReconcileWork
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import POLICIES, SCALING_MODES
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import parse_shapes
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_read import read_slurm

CALL_SECONDS = 8.0
VMS_SECONDS = 8.0
VM_CALL_SECONDS = 4.0

ARGUMENTS = {
    **ONEGATE_ARGUMENTS,
    "timeout_seconds": {"type": "float", "default": 25.0},
    "node_prefix": {"type": "str", "required": True},
    "shapes": {"type": "str", "default": ""},
    "scaling": {"type": "str", "default": POLICIES, "choices": list(SCALING_MODES)},
    "min_vms": {"type": "int", "default": 1},
    "max_vms": {"type": "int", "default": 0},
    "idle_seconds": {"type": "int", "default": 600},
    "drain_seconds": {"type": "int", "default": 600},
    "memory_path": {"type": "path", "default": "/var/lib/onehpc/pool_reconcile.json"},
}


def run(params: dict, check_mode: bool, now: Callable[[], float] = time.time) -> dict:
    """The tick. params: validated module parameters; now: the wall clock.

    Returns the module's result. Every part is carried out by itself; when one of them fails the others are still done,
    then OnehpcError names what failed.
    """
    deadline = Deadline(params["timeout_seconds"])
    policy = _policy(params)
    memory = portal_memory_from_json(read_memory_file(params["memory_path"]))
    slurm = SlurmClient(deadline)
    client = client_of({**params, "timeout_seconds": min(CALL_SECONDS, params["timeout_seconds"])})
    reading = _read(client, slurm, deadline, int(now()))
    asked = read_vms(client, vm_ids_to_ask_for(policy, reading, memory), deadline)
    reading = replace(reading, departed_vm_ids=frozenset(id for id, answer in asked.items() if has_departed(answer)))
    decision = decide_portal(policy, reading, memory)
    deeds, said = intended(decision), []
    if not check_mode:
        work = ReconcileWork(slurm, client, policy, reading, deadline)
        deeds = _carry_out(work, decision, lambda kept: write_memory_file(params["memory_path"], kept.to_json()))
        if work.failures:
            raise PoolError(" ".join(work.failures))
        said = work.said
    roles = {name: figures_of(need) for name, need in decision.needs.items()}
    seen = [reading.service.state_name, *(role_clause(name, figures) for name, figures in roles.items())]
    why = in_one_line([*seen, *_done(reading, decision, deeds), *said])
    return result_of(policy, reading, decision, deeds, roles, why)


def _policy(params: dict) -> PortalPolicy:
    least = {"min_vms": 1, "max_vms": 0, "idle_seconds": 0, "drain_seconds": 0}
    for name, number in least.items():
        if params[name] < number:
            raise PoolError(f"{name} is {params[name]}, expected a whole number of at least {number}.")
    if 0 < params["max_vms"] < params["min_vms"]:
        raise PoolError(
            f"max_vms ({params['max_vms']}) is below min_vms ({params['min_vms']}): correct ONEAPP_WORKER_MAX_VMS or "
            "ONEAPP_WORKER_MIN_VMS."
        )
    return PortalPolicy(
        node_prefix=params["node_prefix"],
        shapes=parse_shapes(params["shapes"]),
        scaling=params["scaling"],
        **{name: params[name] for name in least},
    )


def _read(client: OneGateClient, slurm: SlurmClient, deadline: Deadline, read_at: int) -> PortalReading:
    """Everything but the VMs of which departure must be confirmed."""
    service = client.get_service()
    worker_ids = [vm_id for role in service.worker_roles() for vm_id in role.vm_ids]
    client.timeout_seconds = VM_CALL_SECONDS
    answers = read_vms(client, worker_ids, Deadline(min(VMS_SECONDS, deadline.remaining_seconds)))
    return PortalReading(
        now=read_at,
        slurm=read_slurm(slurm, with_placeholders=True),
        service=service,
        own_vm_id=client.vm_id,
        worker_vms={vm_id: answer for vm_id, answer in answers.items() if isinstance(answer, Vm)},
    )


def _carry_out(work: ReconcileWork, decision: PortalDecision, keep: Callable[[PortalMemory], None]) -> Deeds:
    """keep: writes the memory file."""
    kept = decision.memory

    def remember(direct: DirectMemory) -> None:
        keep(replace(kept, direct=direct))

    def publish() -> None:
        nonlocal kept
        kept = replace(kept, frozen=publish_frozen(work.client, decision.frozen, decision.memory.frozen))

    work.carry_out(decision)
    scale = ScaleWork(work, remember)
    scale.carry_out(decision.direct)
    work.attempt(publish)
    remember(work.direct)
    postponed = {skipped.node_name for skipped in work.postponed}
    return Deeds(
        removals=tuple(removal for removal in decision.removals if removal.node_name not in postponed),
        kept=(*decision.skipped, *work.postponed),
        changes=tuple(work.made),
        terminated=tuple(scale.terminated),
        growth=scale.grown,
    )


def _done(reading: PortalReading, decision: PortalDecision, deeds: Deeds) -> list[str]:
    """Clauses about what was decided."""
    whys = {one.vm_id: one.why for one in decision.direct.terminations}
    unread = ", ".join(str(vm_id) for vm_id in unread_vm_ids(reading))
    return [
        decision.why,
        *(f"deleted {name}" for name in deeds.deleted),
        *(f"set down {name}, its VM is gone" for name in deeds.set_down),
        *(f"kept {one.node_name}, {one.why}" for one in deeds.kept),
        *(f"placeholder {change.name} {change.kind}d" for change in decision.placeholders),
        *(f"stale OLDEST_IDLE of VM {vm_id} reset" for vm_id in decision.stale_vm_ids),
        *(change_clause(change) for change in deeds.changes),
        *(f"VM {vm_id} terminated, {whys[vm_id]}" for vm_id in deeds.terminated),
        growth_clause(deeds.growth) if deeds.growth else "",
        f"nodes that are not this pool's are left alone: {', '.join(decision.new_other_nodes)}"
        if decision.new_other_nodes
        else "",
        f"OneGate did not show VM {unread}" if unread else "",
        decision.frozen,
    ]
