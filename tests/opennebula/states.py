# SPDX-License-Identifier: GPL-3.0-or-later
"""State numbers of virtual machines, services and roles, as OpenNebula 7 numbers them."""

from __future__ import annotations

from enum import IntEnum


class VmState(IntEnum):
    """STATE of a virtual machine."""

    INIT = 0
    PENDING = 1
    HOLD = 2
    ACTIVE = 3
    STOPPED = 4
    SUSPENDED = 5
    DONE = 6
    POWEROFF = 8
    UNDEPLOYED = 9
    CLONING = 10


class LcmState(IntEnum):
    """LCM_STATE of a virtual machine; meaningful while STATE is ACTIVE, otherwise LCM_INIT."""

    LCM_INIT = 0
    PROLOG = 1
    BOOT = 2
    RUNNING = 3
    EPILOG = 11
    SHUTDOWN = 12
    CLEANUP_RESUBMIT = 15
    UNKNOWN = 16
    SHUTDOWN_POWEROFF = 18
    BOOT_POWEROFF = 20
    BOOT_FAILURE = 36
    PROLOG_FAILURE = 39
    EPILOG_FAILURE = 40


class ServiceState(IntEnum):
    """State of a OneFlow service."""

    PENDING = 0
    DEPLOYING = 1
    RUNNING = 2
    UNDEPLOYING = 3
    WARNING = 4
    DONE = 5
    FAILED_UNDEPLOYING = 6
    FAILED_DEPLOYING = 7
    SCALING = 8
    FAILED_SCALING = 9
    COOLDOWN = 10
    DEPLOYING_NETS = 11
    UNDEPLOYING_NETS = 12
    FAILED_DEPLOYING_NETS = 13
    FAILED_UNDEPLOYING_NETS = 14
    HOLD = 15


class RoleState(IntEnum):
    """State of a role: as the service's up to 10, then different."""

    PENDING = 0
    DEPLOYING = 1
    RUNNING = 2
    UNDEPLOYING = 3
    WARNING = 4
    DONE = 5
    FAILED_UNDEPLOYING = 6
    FAILED_DEPLOYING = 7
    SCALING = 8
    FAILED_SCALING = 9
    COOLDOWN = 10
    HOLD = 11


#: LCM states in which a machine's start or end has failed; nothing leaves them by itself.
FAILURE_LCM_STATES = frozenset({LcmState.BOOT_FAILURE, LcmState.PROLOG_FAILURE, LcmState.EPILOG_FAILURE})

#: VM states that end a wait of OneFlow as if it had succeeded.
SETTLED_VM_STATES = frozenset({VmState.STOPPED, VmState.SUSPENDED, VmState.POWEROFF, VmState.UNDEPLOYED})

_TRANSIENT = frozenset(
    {
        ServiceState.DEPLOYING,
        ServiceState.UNDEPLOYING,
        ServiceState.SCALING,
        ServiceState.COOLDOWN,
        ServiceState.DEPLOYING_NETS,
        ServiceState.UNDEPLOYING_NETS,
    }
)

_FAILED = frozenset(
    {
        ServiceState.FAILED_DEPLOYING,
        ServiceState.FAILED_UNDEPLOYING,
        ServiceState.FAILED_SCALING,
        ServiceState.FAILED_DEPLOYING_NETS,
        ServiceState.FAILED_UNDEPLOYING_NETS,
    }
)


#: States from which a recovery deploys, scales or undeploys what is missing; roles have the same without networks.
RECOVER_DEPLOY = frozenset({"FAILED_DEPLOYING", "DEPLOYING", "PENDING"})
RECOVER_SCALE = frozenset({"FAILED_SCALING", "SCALING"})
RECOVER_UNDEPLOY = frozenset({"FAILED_UNDEPLOYING", "UNDEPLOYING"})
RECOVER_NETWORKS = frozenset({"DEPLOYING_NETS", "FAILED_DEPLOYING_NETS"})


def is_transient(state: ServiceState) -> bool:
    """A restarted OneFlow recovers services in these states."""
    return state in _TRANSIENT


def can_update(state: ServiceState) -> bool:
    """A service is changed in no transient and in no failed state."""
    return state not in _TRANSIENT and state not in _FAILED


def can_scale(state: ServiceState) -> bool:
    """Scaling is accepted in RUNNING alone, not even in WARNING."""
    return state == ServiceState.RUNNING


def can_undeploy(state: ServiceState) -> bool:
    """A service is deleted in no transient state (but again in UNDEPLOYING), in no failed one and not in DONE."""
    if state == ServiceState.UNDEPLOYING:
        return True
    return state not in _TRANSIENT and state not in _FAILED and state != ServiceState.DONE
