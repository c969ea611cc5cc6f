# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Carrying out what the portal has decided, part by part: one that fails does not keep the others from being done."""

from __future__ import annotations

from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_change import make_change
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_change import DirectChange
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_outcome import after_change
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import OLDEST_IDLE
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import vm_id_of_node
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import (
    REPLACE,
    PlaceholderChange,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import PortalDecision
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_removal import (
    DELETE,
    NodeRemoval,
    SkippedNode,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import NodeBusyError

CALL_SECONDS = 4.0
SHORTEST_CALL_SECONDS = 0.5


class ReconcileWork:
    """failures: sentences about what should have worked. postponed: nodes that turned out to be in use.

    said: clauses about what was left alone, or refused for good. made: the changes of nodes that were made.
    direct: what is to be remembered of mode direct, outcomes included.
    """

    def __init__(
        self,
        slurm: SlurmClient,
        client: OneGateClient,
        policy: PortalPolicy,
        reading: PortalReading,
        deadline: Deadline,
    ):
        """deadline: for all parts together."""
        self.slurm = slurm
        self.client = client
        self.policy = policy
        self.reading = reading
        self._deadline = deadline
        self.failures: list[str] = []
        self.postponed: list[SkippedNode] = []
        self.said: list[str] = []
        self.made: list[DirectChange] = []

    def carry_out(self, decision: PortalDecision) -> None:
        """Everything but what OneFlow is asked for."""
        self.direct = decision.direct.memory
        for vm_id in decision.stale_vm_ids:
            self.attempt(lambda vm_id=vm_id: self.client.put_vm_by_id(vm_id, {OLDEST_IDLE: 0}))
        for change in decision.placeholders:
            self.attempt(lambda change=change: self._make_placeholder(change))
        for removal in decision.removals:
            self.attempt(lambda removal=removal: self._remove(removal))
        for change in decision.direct.changes:
            self.attempt(lambda change=change: self._change(change))

    def attempt(self, action: Callable[[], None]) -> None:
        """Do one part."""
        self.client.timeout_seconds = max(SHORTEST_CALL_SECONDS, min(CALL_SECONDS, self._deadline.remaining_seconds))
        try:
            action()
        except OnehpcError as error:
            self.failures.append(str(error))

    def _make_placeholder(self, change: PlaceholderChange) -> None:
        if change.kind == REPLACE:
            self.slurm.delete_node(change.name)
        shape = change.shape
        self.slurm.create_placeholder(change.name, shape.cpus, shape.memory_mib, sorted(shape.features), shape.gpus)

    def _remove(self, removal: NodeRemoval) -> None:
        """Remove a node that is still as it was read: a VM that has come back must not lose its node."""
        node = self.slurm.node(removal.node_name)
        read = self.reading.slurm.machine(removal.node_name)
        if node is None:
            return
        if read is None or (node.state, node.address) != (read.state, read.address):
            self.postponed.append(SkippedNode(removal.node_name, f"it is {node.state} by now"))
            return
        if removal.kind != DELETE:
            self.slurm.set_node_down(removal.node_name, removal.reason)
            return
        try:
            self.slurm.delete_node(removal.node_name)
        except NodeBusyError:
            self.postponed.append(SkippedNode(removal.node_name, "slurmctld says that a job still uses it"))

    def _change(self, change: DirectChange) -> None:
        outcome = make_change(self.slurm, change, change.found_reason)
        if not outcome.made:
            self.said.append(outcome.said)
            return
        self.made.append(change)
        role = self.reading.service.role_of(vm_id_of_node(self.policy.node_prefix, change.node_name))
        self.direct = after_change(
            self.direct, change, role.name, role.cardinality, self.policy.idle_seconds, self.reading.now
        )
