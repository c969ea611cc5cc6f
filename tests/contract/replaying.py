# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replay has asked and how the answers differed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tests.contract import translating
from tests.contract.comparing import answer_differences
from tests.contract.recorded import Exchange
from tests.contract.world import World


@dataclass
class Replay:
    """The result for one file.

    :param asked: keys of the exchanges that were replayed.
    :param differences: sentences, each begins with the key.
    """

    asked: set[str] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)

    def note(self, key: str, differences: Iterable[str]) -> None:
        self.asked.add(key)
        self.differences += [f"{key}: {difference}" for difference in differences]

    def repeat(self, world: World, exchange: Exchange) -> None:
        """Ask as recorded and compare."""
        target = translating.target(world, exchange)
        expected = translating.expected(world, exchange)
        self.note(exchange.key, answer_differences(expected, world.repeat(exchange, target)))


@dataclass(frozen=True)
class Stage:
    """A part of a story: after ``setting`` the chains of exchanges follow, each in its order, among each other in any.

    :param chains: keys of exchanges.
    """

    setting: Callable[[World], None]
    chains: tuple[tuple[str, ...], ...]


def interleaved(chains: Iterable[tuple[str, ...]], chance: random.Random) -> Iterator[str]:
    """All members, each chain in its order."""
    waiting = [list(chain) for chain in chains]
    while waiting:
        chain = chance.choice(waiting)
        yield chain.pop(0)
        waiting = [chain for chain in waiting if chain]


def tell(world: World, stages: Iterable[Stage], recorded: dict[str, Exchange], replay: Replay) -> None:
    """Replay a story. After each exchange time passes until actions on VMs have had their effect."""
    for stage in stages:
        stage.setting(world)
        for key in interleaved(stage.chains, world.chance):
            replay.repeat(world, recorded[key])
            if recorded[key].method == "POST":
                world.clock.advance(3)
