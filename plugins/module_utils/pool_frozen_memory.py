# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal remembers to tell that the pool is frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_record import is_of, records_from_json


@dataclass(frozen=True)
class Unanswered:
    """A role whose figures OneFlow should act on: since when (Unix seconds), and its cardinality then."""

    since: int = 0
    cardinality: int = 0


@dataclass(frozen=True)
class FrozenMemory:
    """state: the service's at the last reading, seen without a break since state_since (Unix seconds).

    unanswered: by role name. is_said: the portal has published a sentence about it.
    """

    state: int | None = None
    state_since: int | None = None
    unanswered: Mapping[str, Unanswered] = field(default_factory=dict)
    is_said: bool = False

    def to_json(self) -> dict:
        """The memory as plain data."""
        return {**vars(self), "unanswered": {name: vars(one) for name, one in self.unanswered.items()}}


def frozen_memory_from_json(data: object) -> FrozenMemory:
    """The memory that to_json() wrote; what cannot be understood is left out."""
    given = data if isinstance(data, dict) else {}
    state, state_since = given.get("state"), given.get("state_since")
    known = is_of(int, state) and is_of(int, state_since)
    return FrozenMemory(
        state=state if known else None,
        state_since=state_since if known else None,
        unanswered=records_from_json(Unanswered, given.get("unanswered")),
        is_said=given.get("is_said") is True,
    )
