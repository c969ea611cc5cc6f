# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Waiting, in true seconds, for something that another host or program brings."""

from __future__ import annotations

import time

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline


def wait_until(look, not_yet, wait_seconds, pause_seconds, sleep=time.sleep, clock=time.monotonic):
    """What `look` returns once it raises no `not_yet` (exception class) any more; the last of them when time is over.

    look: called without arguments, at least once and once more at the end; pause_seconds: between two calls.
    """
    deadline = Deadline(wait_seconds, clock)
    while True:
        try:
            return look()
        except not_yet:
            if deadline.passed:
                raise
        sleep(min(pause_seconds, deadline.remaining_seconds))
