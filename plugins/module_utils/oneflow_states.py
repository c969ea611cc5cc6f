# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""State numbers of OneFlow and OpenNebula, by name.

Service and role count alike up to 10, then differ: 11 is DEPLOYING_NETS for a service and HOLD for a role.
"""

from __future__ import annotations

SERVICE_PENDING = 0
SERVICE_DEPLOYING = 1
SERVICE_RUNNING = 2
SERVICE_UNDEPLOYING = 3
SERVICE_WARNING = 4
SERVICE_DONE = 5
SERVICE_FAILED_UNDEPLOYING = 6
SERVICE_FAILED_DEPLOYING = 7
SERVICE_SCALING = 8
SERVICE_FAILED_SCALING = 9
SERVICE_COOLDOWN = 10
SERVICE_DEPLOYING_NETS = 11
SERVICE_UNDEPLOYING_NETS = 12
SERVICE_FAILED_DEPLOYING_NETS = 13
SERVICE_FAILED_UNDEPLOYING_NETS = 14
SERVICE_HOLD = 15

_SHARED_NAMES = {
    0: "PENDING",
    1: "DEPLOYING",
    2: "RUNNING",
    3: "UNDEPLOYING",
    4: "WARNING",
    5: "DONE",
    6: "FAILED_UNDEPLOYING",
    7: "FAILED_DEPLOYING",
    8: "SCALING",
    9: "FAILED_SCALING",
    10: "COOLDOWN",
}
_SERVICE_NAMES = {
    **_SHARED_NAMES,
    11: "DEPLOYING_NETS",
    12: "UNDEPLOYING_NETS",
    13: "FAILED_DEPLOYING_NETS",
    14: "FAILED_UNDEPLOYING_NETS",
    15: "HOLD",
}
_ROLE_NAMES = {**_SHARED_NAMES, 11: "HOLD"}

VM_STATE_ACTIVE = 3
VM_STATE_DONE = 6
VM_STATE_POWEROFF = 8
VM_LCM_RUNNING = 3
VM_LCM_SHUTDOWN = 12
VM_LCM_UNKNOWN = 16
# BOOT_FAILURE, PROLOG_FAILURE, EPILOG_FAILURE: nothing leaves them by itself.
VM_LCM_FAILURES = frozenset([36, 39, 40])


def service_state_name(number):
    """Name of a service's state (int), or "state 99" for a number not known here."""
    return _SERVICE_NAMES.get(number, f"state {number}")


def role_state_name(number):
    """Name of a role's state (int), or "state 99" for a number not known here."""
    return _ROLE_NAMES.get(number, f"state {number}")
