# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The context as a booting host gets it: its package may still be writing it."""

from __future__ import annotations

import time

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ContextError, read_context
from ansible_collections.onehpc.ondemand.plugins.module_utils.parameter_kinds import ROLES
from ansible_collections.onehpc.ondemand.plugins.module_utils.waiting import wait_until

PAUSE_SECONDS = 0.5
UNKNOWN_ROLE = "unknown role"


def wait_for_context(path, wait_seconds, sleep=time.sleep, clock=time.monotonic):
    """The Context in the file at `path`, once it is there and whole; ContextError when it is not in time."""
    try:
        return wait_until(lambda: read_context(path), ContextError, wait_seconds, PAUSE_SECONDS, sleep, clock)
    except ContextError as error:
        raise ContextError(f"{str(error).rstrip('.')}. Waited {wait_seconds:g} s for it.") from None


def role_of(context):
    """The role that the context names, or "unknown role"."""
    role = context.values.get("ONEAPP_ROLE", "").strip()
    return role if role in ROLES else UNKNOWN_ROLE
