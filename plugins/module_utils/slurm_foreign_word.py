# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What somebody else has said about a node. It is about the name, so it outlives the node's record."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS, GONE_REASON, one_line
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

NO_REASON = "drained before the machine was made anew"

# slurmctld gives its reasons as this user.
_SLURM_USER = "slurm"


@dataclass(frozen=True)
class ForeignWord:
    """reason: one line that scontrol takes. keeps_jobs_off: the node takes no jobs because of it."""

    reason: str
    keeps_jobs_off: bool


def foreign_word(node: SlurmNode) -> ForeignWord | None:
    """What is on a node beside this collection's drains and slurmctld's words on a lost machine; None for nothing.

    A node that somebody has set down counts as one to keep jobs off: its next slurmd would bring it back.
    """
    if node.reason in DRAIN_REASONS or node.reason == GONE_REASON:
        return None
    reason = one_line(node.reason) or NO_REASON
    if node.has_drain_flag or node.flags & {"FAIL", "FAILING"}:
        return ForeignWord(reason, True)
    if not node.reason or (node.base_state == "DOWN" and node.reason_user == _SLURM_USER):
        return None
    return ForeignWord(reason, node.base_state == "DOWN")


def stands(word: ForeignWord, node: SlurmNode) -> bool:
    """The node has that word, or somebody's newer one that keeps jobs off as well."""
    present = foreign_word(node)
    if present is None or present.reason == NO_REASON != word.reason:
        return False
    return present.keeps_jobs_off or not word.keeps_jobs_off
