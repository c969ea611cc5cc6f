# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting that says what for and since when."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


class ServiceError(Exception):
    """A sentence that names what failed, where, and what was last seen there."""


class NotYet(Exception):
    """Raised by a reading that is not there yet; its text says how far things are."""


@dataclass
class Clock:
    """Real time; tests put in their own."""

    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


@dataclass
class Progress:
    """Says lines with the time since its start, and waits for conditions.

    watch is called before each reading of a wait and raises what ends it early (a host died, a role reports ERROR).
    """

    say: Callable[[str], None] = lambda text: print(text, flush=True)
    clock: Clock = field(default_factory=Clock)
    watch: Callable[[], None] = lambda: None
    say_every_seconds: float = 20.0

    def __post_init__(self) -> None:
        self._started = self.clock.now()

    def tell(self, text: str) -> None:
        """One line, with minutes and seconds since the start before it."""
        elapsed = int(self.clock.now() - self._started)
        self.say(f"[{elapsed // 60:2d}:{elapsed % 60:02d}] {text}")

    def wait_for(
        self, what: str, read: Callable[[], T | None], *, timeout_seconds: float, poll_seconds: float = 3.0
    ) -> T:
        """Call `read` until it gives something true, and return that.

        `read` gives None or False, or raises NotYet with a detail, while the thing is not there. The first line says
        what is waited for; every say_every_seconds another one since when and how far it is.
        ServiceError names what was waited for and the last detail when the time is over.
        """
        started = said = self.clock.now()
        self.tell(f"waiting for {what} (at most {timeout_seconds:.0f} s)")
        while True:
            self.watch()
            detail = ""
            try:
                value = read()
            except NotYet as not_yet:
                value, detail = None, str(not_yet)
            waited = self.clock.now() - started
            if value:
                self.tell(f"{what}: there after {waited:.0f} s")
                return value
            if waited >= timeout_seconds:
                last = f" Last seen: {detail}." if detail else ""
                raise ServiceError(f"waited {waited:.0f} s for {what}, in vain.{last}")
            if self.clock.now() - said >= self.say_every_seconds:
                said = self.clock.now()
                self.tell(f"  still waiting for {what}, for {waited:.0f} s now" + (f": {detail}" if detail else ""))
            self.clock.pause(min(poll_seconds, timeout_seconds - waited))
