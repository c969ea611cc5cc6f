# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's waits for VMs: until they report ready, or reach a state.

A wait hears events and, when it hears nothing for ``wait_timeout_seconds``, looks at its VMs itself. The two differ:
only looking finds a failed VM, and an update of any VM in the cloud counts as hearing something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.opennebula.clock import Clock, Timer
from tests.opennebula.ready_gate import stored_value_passes, update_passes
from tests.opennebula.server_log import ServerLog
from tests.opennebula.states import FAILURE_LCM_STATES, SETTLED_VM_STATES, LcmState, VmState
from tests.opennebula.vms import VirtualMachine

Finish = Callable[["Wait"], None]


@dataclass
class Wait:
    """One wait. ``target`` is None for a wait for reports, else the state that is waited for."""

    service_id: int
    role_name: str
    pending: list[int]
    target: tuple[VmState, LcmState] | None
    on_success: Finish
    on_failure: Finish
    reached: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    timer: Timer | None = None

    @property
    def purpose(self) -> str:
        """As OneFlow writes it into its log."""
        if self.target is None:
            return f"Waiting {self.pending} to report ready"
        state, lcm_state = self.target
        return f"Waiting {self.pending} to be ({state.name}, {lcm_state.name})"

    def look_at(self, vm: VirtualMachine) -> None:
        """What OneFlow finds when it reads the VM."""
        settled = vm.state == VmState.DONE or vm.state in SETTLED_VM_STATES
        if self.target is None:
            settled = settled or stored_value_passes(vm.attribute("READY"))
        else:
            settled = settled or (vm.state, vm.lcm_state) == self.target
        if settled:
            self._take(vm.id, self.reached)
        elif vm.lcm_state in FAILURE_LCM_STATES:
            self._take(vm.id, self.failed)

    def hears_state(self, vm: VirtualMachine) -> bool:
        """Whether the wait has subscribed to the state that the VM has reached."""
        if vm.id not in self.pending:
            return False
        return vm.state == VmState.DONE or vm.state in SETTLED_VM_STATES or (vm.state, vm.lcm_state) == self.target

    def hear_state(self, vm: VirtualMachine) -> None:
        """The VM has reached a state that ends the wait for it."""
        self._take(vm.id, self.reached)

    def hear_update(self, vm: VirtualMachine, text: str) -> bool:
        """An update of any VM; whether it was the report of one that is waited for."""
        if vm.id not in self.pending or not update_passes(text):
            return False
        self._take(vm.id, self.reached)
        return True

    def _take(self, vm_id: int, into: list[int]) -> None:
        self.pending.remove(vm_id)
        into.append(vm_id)


class Waits:
    """All waits of OneFlow."""

    def __init__(self, clock: Clock, vms: dict[int, VirtualMachine], timeout_seconds: float, log: ServerLog) -> None:
        self._clock = clock
        self._log = log
        self._vms = vms
        self._timeout_seconds = timeout_seconds
        self._waits: list[Wait] = []

    def start(self, wait: Wait) -> None:
        """Look once, then listen. A wait whose VMs are all settled at that first look ends well, failed or not."""
        self._log.info("EM", wait.purpose)
        self._look(wait)
        if not wait.pending:
            self._finish(wait, wait.on_success)
            return
        self._waits.append(wait)
        self._rearm(wait)

    def cancel(self, service_id: int) -> None:
        """Forget every wait of a service."""
        for wait in self._waits:
            if wait.service_id == service_id and wait.timer:
                wait.timer.cancel()
        self._waits = [wait for wait in self._waits if wait.service_id != service_id]

    def hear_state(self, vm: VirtualMachine) -> None:
        """A VM has changed its state."""
        for wait in list(self._waits):
            if wait.hears_state(vm):
                self._log.info("EM", f"Node {vm.id} reached ({vm.state.name}, {vm.lcm_state.name})")
                wait.hear_state(vm)
                self._after_hearing(wait)

    def hear_update(self, vm: VirtualMachine, text: str) -> None:
        """A VM's USER_TEMPLATE was updated with ``text``."""
        for wait in list(self._waits):
            if wait.target is None:
                if wait.hear_update(vm, text):
                    self._log.info("EM", f"Node {vm.id} reported ready")
                self._after_hearing(wait)

    def _after_hearing(self, wait: Wait) -> None:
        if wait.pending:
            self._rearm(wait)
        else:
            self._finish(wait, wait.on_success)

    def _look(self, wait: Wait) -> None:
        for vm_id in list(wait.pending):
            vm = self._vms[vm_id]
            if wait.target is not None:
                self._log.info("EM", f"Node {vm_id} reached ({vm.state.name},{vm.lcm_state.name})")
            wait.look_at(vm)
            if vm_id in wait.failed:
                self._log.error("EM", f"Node {vm_id} is in FAILURE state")

    def _rearm(self, wait: Wait) -> None:
        if wait.timer:
            wait.timer.cancel()
        wait.timer = self._clock.call_later(self._timeout_seconds, lambda: self._heard_nothing(wait))

    def _heard_nothing(self, wait: Wait) -> None:
        self._look(wait)
        if wait.failed:
            self._finish(wait, wait.on_failure)
        elif wait.pending:
            self._rearm(wait)
        else:
            self._finish(wait, wait.on_success)

    def _finish(self, wait: Wait, call: Finish) -> None:
        if wait.timer:
            wait.timer.cancel()
        if wait in self._waits:
            self._waits.remove(wait)
        # OneFlow handles the end of a wait in another thread, after what it is doing now
        self._clock.call_later(0, lambda: call(wait))
