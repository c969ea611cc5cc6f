# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From what the portal has read and decided to the pool's metrics. Pure."""

from __future__ import annotations

import re
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_FAILED_SCALING,
    SERVICE_SCALING,
    SERVICE_WARNING,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import (
    ACTIVE_SESSIONS,
    HEALTHY,
    IDLE_SECONDS,
    OLDEST_IDLE,
    REPORT_TIME,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics import (
    PoolMetrics,
    RoleMetrics,
    WorkerMetrics,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import PortalDecision
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalReading

# A frozen pool in any other state is one to which OneFlow does not react.
_STATES_THAT_FREEZE = {
    SERVICE_WARNING: "warning",
    SERVICE_FAILED_SCALING: "failed_scaling",
    SERVICE_SCALING: "scaling",
}
_NO_REACTION = "no_reaction"
# Key of the tick's result to a word for it.
_DECISIONS = {
    "deleted": "delete",
    "set_down": "set_down",
    "placeholders": "placeholder",
    "oldest_idle_reset": "reset",
    "terminated": "terminate",
    "cardinality": "grow",
}
_NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?")


def pool_metrics(
    reading: PortalReading | None, decision: PortalDecision | None, user_nginx: int, succeeded: bool
) -> PoolMetrics:
    """reading and decision: None as far as the tick did not come to them; succeeded: it came to its end."""
    if reading is None:
        return PoolMetrics(scrape_ok=False, user_nginx=user_nginx)
    idle_nodes, alloc_nodes = _node_counts(reading)
    return PoolMetrics(
        scrape_ok=succeeded and _is_complete(reading),
        user_nginx=user_nginx,
        service_state=reading.service.state,
        idle_nodes=idle_nodes,
        alloc_nodes=alloc_nodes,
        roles=_roles(reading.service, decision),
        workers=tuple(_worker(vm) for _vm_id, vm in sorted(reading.worker_vms.items())),
        frozen=_frozen(reading.service, decision),
    )


def decision_kinds(result: Mapping) -> set[str]:
    """What a tick has done, in words of which there are few. result: the module's."""
    done = {word for key, word in _DECISIONS.items() if result[key]}
    return done | {change["kind"] for change in result["changes"]}


def _is_complete(reading: PortalReading) -> bool:
    listed = {vm_id for role in reading.service.worker_roles() for vm_id in role.vm_ids}
    return reading.slurm is not None and listed <= set(reading.worker_vms)


def _node_counts(reading: PortalReading) -> tuple[int | None, int | None]:
    """Nodes without a job and nodes with one; a suspended job counts, since it holds its node."""
    if reading.slurm is None:
        return None, None
    with_job = sum(1 for node in reading.slurm.machines if reading.slurm.live_jobs_on(node.name))
    return len(reading.slurm.machines) - with_job, with_job


def _roles(service: Service, decision: PortalDecision | None) -> tuple[RoleMetrics, ...]:
    """What waits is counted by the portal itself: in mode direct workers publish 0."""
    needs = decision.needs if decision is not None else {}
    return tuple(
        RoleMetrics(
            name=role.name,
            cardinality=role.cardinality,
            pending=needs[role.name].pending.jobs if role.name in needs else None,
            wanted=needs[role.name].wanted if role.name in needs else None,
        )
        for role in service.roles
    )


def _frozen(service: Service, decision: PortalDecision | None) -> tuple[tuple[str, bool], ...]:
    if decision is None:
        return ()
    holding = _STATES_THAT_FREEZE.get(service.state, _NO_REACTION) if decision.frozen else None
    return tuple((reason, reason == holding) for reason in (*_STATES_THAT_FREEZE.values(), _NO_REACTION))


def _worker(vm: Vm) -> WorkerMetrics:
    return WorkerMetrics(
        vm_id=vm.id,
        name=vm.name or "",
        address=vm.addresses[-1] if vm.addresses else "",
        active_sessions=_figure(vm, ACTIVE_SESSIONS),
        idle_seconds=_figure(vm, IDLE_SECONDS),
        oldest_idle=_figure(vm, OLDEST_IDLE),
        healthy=_figure(vm, HEALTHY),
        report_time=_figure(vm, REPORT_TIME),
    )


def _figure(vm: Vm, name: str) -> float | None:
    """A published number. Where OneFlow would read text as 0, nothing is known here."""
    text = vm.user_template.get(name)
    return float(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else None
