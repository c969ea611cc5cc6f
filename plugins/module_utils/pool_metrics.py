# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pool's metrics. Pure.

What is not known is None here and has no sample in the text: a 0 would be a statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.prometheus_text import Gauge, Sample, exposition


@dataclass(frozen=True)
class WorkerMetrics:
    """What a listed worker has published. address: in the compute network; report_time: Unix seconds."""

    vm_id: int
    name: str
    address: str
    active_sessions: float | None = None
    idle_seconds: float | None = None
    oldest_idle: float | None = None
    healthy: float | None = None
    report_time: float | None = None


@dataclass(frozen=True)
class RoleMetrics:
    """A role. pending: jobs that wait for a worker of it; wanted: workers that it lacks for them. Worker roles only."""

    name: str
    cardinality: int
    pending: int | None = None
    wanted: int | None = None


@dataclass(frozen=True)
class PoolMetrics:
    """One tick's. scrape_ok: it read everything and did its work. service_state: OneFlow's number.

    frozen: each reason for which OneFlow may not act, and whether it holds.
    """

    scrape_ok: bool
    user_nginx: int
    service_state: int | None = None
    idle_nodes: int | None = None
    alloc_nodes: int | None = None
    roles: tuple[RoleMetrics, ...] = ()
    workers: tuple[WorkerMetrics, ...] = ()
    frozen: tuple[tuple[str, bool], ...] = ()


def render(metrics: PoolMetrics) -> str:
    """What is read anew at every tick."""
    return exposition(
        [
            _gauge("ood_exporter_scrape_ok", "1 if the last tick read everything and did its work", metrics.scrape_ok),
            _gauge("ood_portal_puns", "Users with a web server of their own on the portal", metrics.user_nginx),
            _gauge("ood_service_state", "State of the OneFlow service: 2 is RUNNING", metrics.service_state),
            _gauge("ood_slurm_idle_nodes", "Nodes of the cluster without a job", metrics.idle_nodes),
            _gauge("ood_slurm_alloc_nodes", "Nodes of the cluster with a job", metrics.alloc_nodes),
            Gauge(
                "ood_pool_frozen",
                "1 if OneFlow may not change the pool, for this reason",
                tuple(Sample(holds, {"reason": reason}) for reason, holds in metrics.frozen),
            ),
            *_role_gauges(metrics.roles),
            *_worker_gauges(metrics.workers),
        ]
    )


def render_decisions(kinds: Iterable[str], decided_at: int) -> str:
    """What the last tick that changed something has done. kinds: of a few words; decided_at: Unix seconds."""
    what = "When the portal last changed something, and what that was"
    samples = tuple(Sample(decided_at, {"decision": kind}) for kind in set(kinds))
    return exposition([Gauge("ood_pool_last_decision_timestamp_seconds", what, samples)])


def render_accounting(backlog_messages: int | None) -> str:
    """What slurmctld holds for slurmdbd."""
    what = "Messages that slurmctld holds until slurmdbd takes them"
    return exposition([_gauge("ood_slurmdbd_backlog_messages", what, backlog_messages)])


def _gauge(name: str, what: str, value: float | None) -> Gauge:
    return Gauge(name, what, () if value is None else (Sample(value),))


def _role_gauges(roles: tuple[RoleMetrics, ...]) -> list[Gauge]:
    def gauge(name: str, what: str, field: str) -> Gauge:
        values = ((role.name, getattr(role, field)) for role in roles)
        return Gauge(name, what, tuple(Sample(value, {"role": role}) for role, value in values if value is not None))

    return [
        gauge("ood_role_cardinality", "Virtual machines that OneFlow keeps for the role", "cardinality"),
        gauge("ood_slurm_pending", "Jobs waiting for a worker of the role", "pending"),
        gauge("ood_role_wanted_workers", "Workers that the role lacks for the jobs that wait", "wanted"),
    ]


def _worker_gauges(workers: tuple[WorkerMetrics, ...]) -> list[Gauge]:
    def gauge(name: str, what: str, field: str) -> Gauge:
        samples = []
        for worker in workers:
            value = getattr(worker, field)
            if value is not None:
                labels = {"vm_id": str(worker.vm_id), "name": worker.name, "address": worker.address}
                samples.append(Sample(value, labels))
        return Gauge(name, what, tuple(samples))

    return [
        gauge("ood_worker_active_sessions", "Jobs running on the worker", "active_sessions"),
        gauge("ood_worker_idle_seconds", "Seconds since the last job on the worker ended", "idle_seconds"),
        gauge("ood_worker_oldest_idle", "1 if OneFlow may remove the oldest worker of the role", "oldest_idle"),
        gauge("ood_worker_healthy", "1 if the worker can serve sessions", "healthy"),
        gauge("ood_worker_report_timestamp_seconds", "When the worker last published its figures", "report_time"),
    ]
