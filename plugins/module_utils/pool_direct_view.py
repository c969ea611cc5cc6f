# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A worker role that the portal scales itself, as read and remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectNode,
    DirectRights,
    DirectRole,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import (
    IDLE_REASON,
    RETURNING_REASON,
    vm_id_of_node,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import RETURN_GRACE_SECONDS
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# OneFlow acts on figures up to this long after they were withdrawn, by removing the oldest worker: until then the
# portal must not make another one the oldest, nor give this one jobs.
QUIET_SECONDS = RETURN_GRACE_SECONDS
# A VM that still runs so long after it was to be terminated stays.
TERMINATE_SECONDS = 300
# A refusal of OneGate is taken for its last word so long.
REFUSAL_SECONDS = 24 * 3600

POLICIES_REASONS = frozenset([IDLE_REASON, RETURNING_REASON])


@dataclass(frozen=True)
class DirectView:
    """view: the role. pending: the jobs that wait for it. is_frozen: OneFlow scales nothing and will not by itself.

    role, nodes, rights: what is remembered, this reading included; nodes has every listed worker.
    """

    policy: PortalPolicy
    reading: PortalReading
    view: RoleView
    pending: PendingCount
    is_frozen: bool
    role: DirectRole
    nodes: Mapping[str, DirectNode]
    rights: DirectRights

    @property
    def now(self) -> int:
        """When the reading was made (Unix seconds)."""
        return self.reading.now

    @property
    def minimum(self) -> int:
        """Workers that must stay in service."""
        return max(self.policy.min_vms, 1)

    @cached_property
    def in_service(self) -> tuple[SlurmNode, ...]:
        """Listed nodes that respond and that nobody has touched."""
        return tuple(node for node in self.view.registered if node.is_untouched and node.is_responding)

    @cached_property
    def is_read_whole(self) -> bool:
        """OneGate has shown every listed worker."""
        return all(vm_id in self.reading.worker_vms for vm_id in self.view.role.vm_ids)

    @property
    def is_quiet(self) -> bool:
        """No figure is left by which OneFlow could still remove a worker."""
        return self.role.policies_seen_at is not None and self.now - self.role.policies_seen_at >= QUIET_SECONDS

    @property
    def may_terminate(self) -> bool:
        """OneGate has not forbidden it lately."""
        return not _is_recent(self.rights.no_terminate_at, self.now)

    @property
    def may_grow(self) -> bool:
        """OneGate has not forbidden it lately."""
        return not _is_recent(self.rights.no_growth_at, self.now)

    @property
    def obstacles_to_shrinking(self) -> tuple[tuple[bool, str], ...]:
        """What forbids drains and terminates alike: whether it holds, and the sentence."""
        return (
            (self.is_frozen or not self.view.service.is_running, "the service does not run"),
            (self.view.is_shrinking, "OneFlow is removing a worker"),
            (self.pending.jobs > 0, "jobs wait"),
            (not self.is_read_whole, "OneGate did not show every worker"),
            (not self.is_quiet, "figures of the other mode may still be acted on"),
            (not self.may_terminate, "OneGate does not let this VM terminate others"),
        )

    def vm_of(self, node_name: str) -> Vm | None:
        """The VM of a node, None when OneGate did not show it."""
        return self.reading.worker_vms.get(vm_id_of_node(self.policy.node_prefix, node_name))

    def runs(self, node_name: str) -> bool:
        """OpenNebula shows the node's VM as running."""
        vm = self.vm_of(node_name)
        return vm is not None and vm.is_running

    def is_empty(self, node: SlurmNode) -> bool:
        """The node responds, has no job in any live state, and nothing else goes on with it."""
        but_for_a_drain = replace(node, flags=node.flags - {"DRAIN"})
        return but_for_a_drain.is_idle and not self.view.slurm.live_jobs_on(node.name)


def _is_recent(refused_at: int | None, now: int) -> bool:
    return refused_at is not None and 0 <= now - refused_at < REFUSAL_SECONDS
