# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Making a decided change of a worker's node without overruling anybody who was there first."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import IDLE_REASON, RETURNING_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    BEGIN_RETURN,
    DRAIN,
    RETURN,
    NodeChange,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode


@dataclass(frozen=True)
class ChangeOutcome:
    """made: the change was made. node: the node as last read. said: why it was not made, or what came after."""

    made: bool
    node: SlurmNode | None
    said: str = ""


_FOUND_REASONS = {DRAIN: "", BEGIN_RETURN: IDLE_REASON, RETURN: RETURNING_REASON}


def make_change(client: SlurmClient, change: NodeChange, found_reason: str | None = None) -> ChangeOutcome:
    """Make one change of a node, unless the node is no longer what the decision was based on.

    found_reason: the node's reason in the reading; None: as a worker finds it in mode policies.

    scontrol overwrites a reason without a word, and afterwards nobody can tell whose it was. So the node is read
    once more right before the change, and once after it.

    :raises SlurmError: a command failed.
    """
    before = client.node(change.node_name)
    if before is None:
        return ChangeOutcome(False, None, f"Node {change.node_name} has gone since it was read: nothing was changed.")
    if not _is_as_decided(before, change.kind, _FOUND_REASONS[change.kind] if found_reason is None else found_reason):
        said = f"Node {before.name} is {before.state} with the reason '{before.reason}' by now: it was left alone."
        return ChangeOutcome(False, before, said)
    if change.kind == RETURN:
        return ChangeOutcome(True, client.undrain_node(before.name))
    after = client.drain_node(before.name, change.reason)
    if after.reason != change.reason:
        said = f"Somebody put '{after.reason}' on node {after.name} right after: it is theirs now."
        return ChangeOutcome(False, after, said)
    return ChangeOutcome(True, after)


def _is_as_decided(node: SlurmNode, kind: str, found_reason: str) -> bool:
    if kind == DRAIN:
        return node.is_untouched and node.base_state == "IDLE" and node.is_responding
    return node.has_drain_flag and node.reason == found_reason and node.is_responding and "FAIL" not in node.flags
