# SPDX-License-Identifier: GPL-3.0-or-later
"""What OneFlow's watchdog makes of a VM's state while it watches the VM's service."""

from __future__ import annotations

from enum import Enum

from tests.opennebula.states import FAILURE_LCM_STATES, LcmState, VmState


class Verdict(Enum):
    """What happens to the service."""

    WARNING = "service and role go to WARNING"
    GONE = "the node leaves the role and the cardinality drops by one"
    RUNNING = "the role runs; the service, too, when all its roles do"


def verdict(state: int, lcm_state: int) -> Verdict | None:
    """None: other states are ignored."""
    failed = lcm_state == LcmState.UNKNOWN or lcm_state in FAILURE_LCM_STATES
    if state == VmState.POWEROFF or (state == VmState.ACTIVE and failed):
        return Verdict.WARNING
    if state == VmState.DONE:
        return Verdict.GONE
    if state == VmState.ACTIVE and lcm_state == LcmState.RUNNING:
        return Verdict.RUNNING
    return None
