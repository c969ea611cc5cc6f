# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cluster's munge key as the portal publishes it: read from OneGate, waited for, installed."""

from __future__ import annotations

import base64
import binascii
import time

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_portal import find_portal

ATTRIBUTE = "SLURM_MUNGE_KEY"
MINIMUM_KEY_BYTES = 32
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 5.0


class MungeKeyError(OnehpcError):
    """There is no usable key. The sentence never holds any part of one."""


def decode_key(text):
    """The key (bytes) in its published form: base64 with or without padding; MungeKeyError when it is none."""
    text = text.strip().rstrip("=")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise MungeKeyError(f"{ATTRIBUTE} is not base64") from None
    if len(key) < MINIMUM_KEY_BYTES:
        raise MungeKeyError(f"{ATTRIBUTE} holds {len(key)} bytes, munge needs at least {MINIMUM_KEY_BYTES}")
    return key


def published_key(client, portal_role):
    """(key as bytes, portal's VM id) as published now; MungeKeyError or OneGateError when there is none."""
    search = find_portal(client, portal_role)
    if search.vm is None:
        listed = ", ".join(f"VM {vm_id}" for vm_id in search.listed_vm_ids)
        raise MungeKeyError(f"no VM of role {portal_role} is running (listed: {listed or 'none'})")
    text = search.vm.user_template.get(ATTRIBUTE)
    if not isinstance(text, str) or not text:
        raise MungeKeyError(f"portal VM {search.vm.id} has not published {ATTRIBUTE} yet")
    try:
        return decode_key(text), search.vm.id
    except MungeKeyError as error:
        raise MungeKeyError(f"portal VM {search.vm.id}: {error}") from None


def wait_for_key(make_client, portal_role, wait_seconds, sleep=time.sleep, clock=time.monotonic):
    """The published key, asked for until it is there: (key, portal's VM id).

    make_client: called without arguments for a OneGateClient, again while no endpoint answers; wait_seconds: 0 asks
    once. A refused token or permission (401, 403) ends the wait at once.
    """
    deadline = Deadline(wait_seconds, clock)
    pause_seconds = FIRST_PAUSE_SECONDS
    client = None
    while True:
        try:
            client = client or make_client()
            return published_key(client, portal_role)
        except (MungeKeyError, OneGateError) as error:
            if getattr(error, "not_authorized", False):
                raise
            reason = str(error)
        if deadline.passed:
            raise MungeKeyError(
                f"No munge key after {wait_seconds} s: {reason.rstrip('.')}. See the portal's first boot "
                "(journalctl -u onehpc-first-boot)."
            )
        sleep(min(pause_seconds, deadline.remaining_seconds))
        pause_seconds = min(pause_seconds * 1.5, LONGEST_PAUSE_SECONDS)
