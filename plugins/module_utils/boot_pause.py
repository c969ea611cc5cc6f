# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How long a new attempt of a failed boot waits, so that a fault which lasts costs little."""

from __future__ import annotations

import os

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import CommandTimeout, run_bounded

UNIT = "onehpc-first-boot.service"
SYSTEMCTL_SECONDS = 10


def pause_seconds(restarts, first_seconds, longest_seconds):
    """Seconds before an attempt after `restarts` failed ones: none, then doubled each time up to the longest."""
    if restarts == 0:
        return 0
    return min(first_seconds * 2 ** min(restarts - 1, 30), longest_seconds)


def automatic_restarts(unit=UNIT):
    """How often systemd has started the unit again by itself since somebody last started it; 0 where nobody knows."""
    try:
        argv = ["systemctl", "show", "--property", "NRestarts", "--value", unit]
        return int(run_bounded(argv, os.environ, SYSTEMCTL_SECONDS).stdout)
    except (OSError, ValueError, CommandTimeout):
        return 0
