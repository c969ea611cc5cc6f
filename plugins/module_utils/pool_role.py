# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A worker role as OneFlow and Slurm show it together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_DONE,
    SERVICE_UNDEPLOYING,
    SERVICE_UNDEPLOYING_NETS,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, ServiceRole
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS, IDLE_REASON, node_name
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount, PoolSize
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape, shape_of_node
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

_ENDING_STATES = frozenset([SERVICE_UNDEPLOYING, SERVICE_UNDEPLOYING_NETS, SERVICE_DONE])


@dataclass(frozen=True)
class RoleView:
    """service and role: as OneGate lists them; minimum: workers of the role that must never be drained.

    maximum: the most workers of any role, 0 when not known.
    """

    service: Service
    role: ServiceRole
    slurm: SlurmReading
    node_prefix: str
    minimum: int
    maximum: int = 0

    @property
    def pool_size(self) -> PoolSize:
        """Of all worker roles together: a job on several nodes may get them from any."""
        return PoolSize(len(self.slurm.machines), self.maximum * len(self.service.worker_roles()))

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """The nodes of the role's listed VMs, oldest first, registered or not."""
        return tuple(node_name(self.node_prefix, vm_id) for vm_id in self.role.vm_ids)

    @property
    def oldest_name(self) -> str | None:
        """The node whose VM OneFlow removes next: the first of its list."""
        return self.node_names[0] if self.node_names else None

    @cached_property
    def registered(self) -> tuple[SlurmNode, ...]:
        """The listed nodes that slurmctld knows."""
        found = (self.slurm.machine(name) for name in self.node_names)
        return tuple(node for node in found if node is not None)

    @cached_property
    def is_above_minimum(self) -> bool:
        """More listed nodes can take jobs, or return to it on our word, than must stay.

        The design counts every responding node. One that a person has drained or marked responds but takes no job:
        counting it would let the last worker that does drain, so only untouched nodes and our own drains count.
        """
        usable = sum(1 for node in self.registered if node.is_responding and (node.is_untouched or _is_our_drain(node)))
        return usable > max(self.minimum, 1)

    @cached_property
    def free_nodes(self) -> tuple[SlurmNode, ...]:
        """The listed nodes that take a job at once: untouched, idle, and empty in squeue's eyes too."""
        return tuple(
            node
            for node in self.registered
            if node.is_untouched and node.is_idle and not self.slurm.live_jobs_on(node.name)
        )

    @property
    def booting_workers(self) -> int:
        """Workers that OneFlow has been asked for and that slurmctld does not know yet.

        A registered node never counts, in whatever state: one that is down would else stand for a worker for ever.
        """
        return max(0, self.role.cardinality - len(self.registered))

    @property
    def is_shrinking(self) -> bool:
        """A scale-down is in progress: OneFlow lowers the cardinality first, the VM leaves the list at its end."""
        return self.role.cardinality < len(self.role.nodes)

    @property
    def is_ending(self) -> bool:
        """The service is being undeployed or gone."""
        return self.service.state in _ENDING_STATES

    def shapes(self) -> tuple[WorkerShape, ...]:
        """What the role's registered workers offer, the same on every worker that asks."""
        return tuple(dict.fromkeys(shape_of_node(node) for node in self.registered))

    def oldest_may_go(self, pending: PendingCount) -> bool:
        """OLDEST_IDLE: OneFlow may remove the oldest worker without harm to any job."""
        name = self.oldest_name
        node = self.slurm.machine(name) if name else None
        return (
            node is not None
            and node.has_drain_flag
            and node.reason == IDLE_REASON
            and node.base_state == "IDLE"
            and node.is_responding
            and "COMPLETING" not in node.flags
            and not self.slurm.live_jobs_on(node.name)
            and not pending.wants(node.name)
            and self.service.is_running
            and not self.is_shrinking
            and self.is_above_minimum
        )


def _is_our_drain(node: SlurmNode) -> bool:
    return node.has_drain_flag and node.reason in DRAIN_REASONS
