# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A change of one worker's node by the portal."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import NodeChange


@dataclass(frozen=True)
class DirectChange(NodeChange):
    """found_reason: the reason of the node that the decision was based on. why: a clause.

    ends_by_time: the drain came to nothing, so the role's next one waits longer.
    """

    found_reason: str
    why: str
    ends_by_time: bool = False
