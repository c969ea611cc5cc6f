# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual time in which a call may take seconds while everything else goes on."""

from __future__ import annotations

from tests.opennebula.clock import VirtualClock


class NestingClock(VirtualClock):
    """A timer may itself let time pass: what is due meanwhile runs inside of it, and time never goes back."""

    def run_until(self, end: float) -> None:
        """Run every timer that is due by ``end``, each at its time."""
        while (due := self._next_due()) is not None and due <= end:
            self._step(due)
        self._now = max(self._now, end)

    def pass_time(self, seconds: float) -> None:
        """What a call waits for its answer."""
        self.run_until(self._now + seconds)
