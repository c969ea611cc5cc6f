# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions on all VMs of a role: OneFlow only schedules them, some VMs at a time; the core runs them later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.opennebula.clock import Clock
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.services import role_node_ids
from tests.opennebula.states import RoleState
from tests.opennebula.vms import VirtualMachine, VmError, VmPool

#: OneFlow's defaults: one VM a minute.
ACTION_PERIOD_SECONDS = 60
ACTION_NUMBER = 1

#: Actions that OneFlow knows; those that a guest of the simulator cannot tell apart do nothing.
KNOWN = frozenset(
    [
        "terminate",
        "terminate-hard",
        "undeploy",
        "undeploy-hard",
        "hold",
        "release",
        "stop",
        "suspend",
        "resume",
        "reboot",
        "reboot-hard",
        "poweroff",
        "poweroff-hard",
        "snapshot-create",
        "snapshot-revert",
        "snapshot-delete",
        "disk-snapshot-create",
        "disk-snapshot-revert",
        "disk-snapshot-delete",
    ]
)


class RoleActions:
    """Schedules actions."""

    def __init__(self, clock: Clock, vms: VmPool) -> None:
        self._clock = clock
        self._vms = vms
        self._calls: dict[str, Callable[[VirtualMachine], None]] = {
            "terminate": vms.terminate,
            "terminate-hard": lambda vm: vms.terminate(vm, hard=True),
            "poweroff": vms.poweroff,
            "poweroff-hard": lambda vm: vms.poweroff(vm, hard=True),
            "resume": vms.resume,
            "hold": vms.hold,
            "release": vms.release,
        }

    def schedule(self, role: dict[str, Any], action: str, period_seconds: int, number: int) -> None:
        """``number`` VMs at once, the next ones ``period_seconds`` later, in the order of the nodes.

        :raises OneFlowError: for a role that is DONE. An action that a VM's state does not allow is no error.
        """
        if role["state"] == RoleState.DONE:
            raise OneFlowError(f"Role {role['name']} is in DONE state")
        staggered = period_seconds > 0 and number > 0
        for index, vm_id in enumerate(role_node_ids(role)):
            wait_seconds = index // number * period_seconds if staggered else 0
            self._clock.call_later(wait_seconds, lambda vm_id=vm_id: self._run(vm_id, action))

    def _run(self, vm_id: int, action: str) -> None:
        call = self._calls.get(action)
        if call is None:
            return
        try:
            call(self._vms.get(vm_id))
        except VmError:
            # the core notes it in the VM's log and goes on
            return
