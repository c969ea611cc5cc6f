# SPDX-License-Identifier: GPL-3.0-or-later
"""``oneflow.log``: what OneFlow's threads write, in order."""

from __future__ import annotations

from dataclasses import dataclass

from tests.opennebula.clock import Clock


@dataclass(frozen=True)
class Line:
    """One line. ``severity`` is I or E; ``component`` is AE, EM, LCM or WD."""

    time: float
    severity: str
    component: str
    text: str


class ServerLog:
    """All lines, oldest first. Not in it: what OneFlow writes into the log of a single service."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lines: list[Line] = []

    def info(self, component: str, text: str) -> None:
        self._add("I", component, text)

    def error(self, component: str, text: str) -> None:
        self._add("E", component, text)

    def _add(self, severity: str, component: str, text: str) -> None:
        self.lines.append(Line(self._clock.now(), severity, component, text))
