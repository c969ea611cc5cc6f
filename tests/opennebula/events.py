# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of everything that happened, from which a timeline can be read."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from typing import Any

log = logging.getLogger(__name__)

#: Longer values (keys, certificates) are not repeated in events.
LONGEST_SHOWN_VALUE = 100


@dataclass(frozen=True)
class Event:
    """One event. ``time`` is epoch seconds, ``seq`` counts from 1 without a gap.

    Kinds: SERVICE_CREATED SERVICE_STATE ROLE_STATE CARDINALITY NODE_ADDED NODE_REMOVED POLICY_EVALUATED POLICY_FIRED
    MINIMUM_FIRED COOLDOWN VM_CREATED VM_STATE VM_UPDATE READY VM_TERMINATE VM_RECREATE AUTOSCALER_STOPPED.
    """

    seq: int
    time: float
    kind: str
    vm: int | None
    service: int | None
    role: str | None
    text: str


class EventLog:
    """All events, oldest first."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(
        self,
        now: float,
        kind: str,
        text: str,
        vm: int | None = None,
        service: int | None = None,
        role: str | None = None,
    ) -> None:
        """Record an event and write its line into the log."""
        event = Event(len(self._events) + 1, now, kind, vm, service, role, text)
        self._events.append(event)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        about = " ".join(
            f"{name}={value}" for name, value in (("service", service), ("role", role), ("vm", vm)) if value is not None
        )
        log.info("%s %s %s: %s", stamp, kind, about, text)

    def since(self, seq: int = 0) -> list[dict[str, Any]]:
        """Events with a number above ``seq``."""
        return [asdict(event) for event in self._events[max(0, seq) :]]


def shown(value: Any) -> str:
    """A value as an event repeats it."""
    text = "(none)" if value is None else str(value)
    return text if len(text) <= LONGEST_SHOWN_VALUE else f"({len(text)} characters)"
