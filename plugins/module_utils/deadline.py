# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A point in time by which a piece of work must be done."""

from __future__ import annotations

import time


class Deadline:
    """Counts down from `seconds` (float) by the monotonic clock."""

    def __init__(self, seconds, clock=time.monotonic):
        self._clock = clock
        self._end = clock() + seconds

    @property
    def remaining_seconds(self):
        """Seconds left, never negative."""
        return max(0.0, self._end - self._clock())

    @property
    def passed(self):
        """True when no time is left."""
        return self.remaining_seconds <= 0.0
