# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened when, each line with the source it was read back from."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """time: epoch seconds. source: the command or record that this line can be read from again."""

    time: float
    what: str
    source: str


def render(entries: Iterable[Entry]) -> list[str]:
    """Lines of a table, earliest first: clock time, time since the first entry, what, source.

    Entries of the same time stay in their order.
    """
    ordered = sorted(entries, key=lambda entry: entry.time)
    if not ordered:
        return []
    first = ordered[0].time
    width = max(len(entry.what) for entry in ordered)
    lines = [f"{'time':8}  {'after':>7}  {'what':{width}}  read from"]
    for entry in ordered:
        clock = time.strftime("%H:%M:%S", time.localtime(entry.time))
        after = int(entry.time - first)
        lines.append(f"{clock}  {after // 60:4d}:{after % 60:02d}  {entry.what:{width}}  {entry.source}")
    return lines


def missing(entries: Iterable[Entry], expected: Iterable[str]) -> list[str]:
    """Those of `expected` (beginnings of what) that no entry has."""
    present = [entry.what for entry in entries]
    return [beginning for beginning in expected if not any(what.startswith(beginning) for what in present)]
