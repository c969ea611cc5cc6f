# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens in one simulated run: settings and events, made from a seed or written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

POLICIES = "policies"
DIRECT = "direct"

#: An event comes at its time, or so many seconds after the first such moment that follows it.
AT_TIME = "time"
AFTER_DRAIN = "drain"  # a worker has been drained by the pool
AFTER_IDLE = "idle"  # OLDEST_IDLE=1 has been published
AFTER_READING = "reading"  # the autoscaler has read OLDEST_IDLE above 0.99
AFTER_RETURN = "return"  # a worker begins to return
BEFORE_CHANGE = "change"  # a tick has read everything and looks at a node once more before it changes it
IN_CHANGE = "write"  # the last look is over, and the drain is on its way


@dataclass(frozen=True)
class RoleSettings:
    """One worker role. ``start``: workers at the beginning, all ready and idle."""

    name: str
    start: int
    minimum: int
    maximum: int
    cpus: int = 2
    memory_mib: int = 3686


@dataclass(frozen=True)
class Settings:
    """Times in seconds. ``slurm``: 22.05 or 24.11."""

    mode: str = POLICIES
    slurm: str = "24.11"
    roles: tuple[RoleSettings, ...] = (RoleSettings("worker", 1, 1, 4),)
    interval_seconds: int = 30
    acting_delay_seconds: int = 0
    idle_seconds: int = 300
    drain_seconds: int = 600
    boot_seconds: int = 50
    up_cooldown_seconds: int = 120
    down_cooldown_seconds: int = 300
    duration_seconds: int = 7200


@dataclass(frozen=True)
class Event:
    """``what`` names a method of :class:`tests.simulation.happenings.Happenings`; ``arguments`` are its keywords."""

    at: float
    what: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    after: str = AT_TIME
    delay: float = 0.0

    def __str__(self) -> str:
        when = f"{self.at:7.1f}" + ("" if self.after == AT_TIME else f" (+{self.delay:g} s after {self.after})")
        said = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{when} {self.what}({said})"


@dataclass(frozen=True)
class Schedule:
    """``seed`` also decides the phases of ticks, the length of calls and the like."""

    seed: int
    settings: Settings
    events: tuple[Event, ...]
