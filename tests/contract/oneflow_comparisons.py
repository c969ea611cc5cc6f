# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings, and what a replay of them was compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.recorded import load


@dataclass(frozen=True)
class Comparison:
    """One recorded entry and what the simulator did instead, both with the replay's names."""

    recording: str
    entry: str
    recorded: Any
    replayed: Any

    @property
    def is_equal(self) -> bool:
        return self.recorded == self.replayed


def entries(name: str) -> set[str]:
    """The names of all entries of a recording: every exchange, step or line needs a comparison."""
    recorded = load(name)
    if isinstance(recorded, list):
        return {str(index) for index in range(len(recorded))}
    if any(isinstance(section, list) for section in recorded.values()):
        return {f"{section}/{index}" for section, steps in recorded.items() for index in range(len(steps))}
    return {"whole"}


def in_order(recording: str, names: Iterable[str], recorded: Sequence[Any], seen: Sequence[Any]) -> list[Comparison]:
    """Whether the recorded entries were seen in their order, with anything in between.

    An entry that does not come is compared with what was seen where it should have been.
    """
    position = 0
    found: list[Comparison] = []
    for name, wanted in zip(names, recorded, strict=True):
        at = next((index for index in range(position, len(seen)) if seen[index] == wanted), None)
        if at is None:
            found.append(Comparison(recording, name, wanted, seen[position] if position < len(seen) else None))
        else:
            # the next entry may be the same again
            found.append(Comparison(recording, name, wanted, seen[at]))
            position = at
    return found
