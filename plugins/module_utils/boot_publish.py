# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the launcher publishes by itself, when no playbook has run yet or none ran to its end."""

from __future__ import annotations

import time

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import transliterate
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError

WITHDRAWAL = {"READY": "NO", "SLURM_PENDING": 0, "OLDEST_IDLE": 0, "ERROR": ""}
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0


def withdraw(make_client, wait_seconds, sleep=time.sleep, clock=time.monotonic):
    """Take READY back and put the pool's figures to neutral, in one update.

    A virtual machine keeps what it published through a reboot and through delete-recreate.
    make_client: called with the seconds left for a OneGateClient. Raises OneGateError or ContextError.
    """
    _put(make_client, WITHDRAWAL, wait_seconds, sleep, clock)


def publish_failure(make_client, attributes, wait_seconds, sleep=time.sleep, clock=time.monotonic):
    """Publish why a boot failed: attributes (dict) with ERROR as any text."""
    _put(make_client, {**attributes, "ERROR": transliterate(attributes["ERROR"])}, wait_seconds, sleep, clock)


def _put(make_client, attributes, wait_seconds, sleep, clock):
    """Tried until the time is over; what waiting cannot mend (401, 403) ends it at once."""
    deadline = Deadline(wait_seconds, clock)
    pause_seconds = FIRST_PAUSE_SECONDS
    while True:
        try:
            make_client(deadline.remaining_seconds).put_vm(attributes)
            return
        except OneGateError as error:
            if not error.retryable or deadline.remaining_seconds <= pause_seconds:
                raise
        sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, LONGEST_PAUSE_SECONDS)
