# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal asks OneFlow for in mode direct: the end of a VM, and more of them."""

from __future__ import annotations

from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct import DirectDecision
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_grow import Growth
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import DirectMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_outcome import (
    after_refused_growth,
    after_refused_terminate,
    before_terminate,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_terminate import Termination
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reconcile_work import ReconcileWork


class ScaleWork:
    """terminated: VMs that OneGate has taken the order for. grown: the growth, if OneFlow has taken it."""

    def __init__(self, work: ReconcileWork, remember: Callable[[DirectMemory], None]):
        """remember: keeps a memory for good; called before a VM is terminated."""
        self._work = work
        self._remember = remember
        self.terminated: list[int] = []
        self.grown: Growth | None = None

    def carry_out(self, decision: DirectDecision) -> None:
        """The service is read once more: what it was asked for before may be on its way by now."""
        if not decision.terminations and decision.growth is None:
            return
        self._work.attempt(lambda: self._scale(decision, self._work.client.get_service()))

    def _scale(self, decision: DirectDecision, service: Service) -> None:
        if service.state != self._work.reading.service.state:
            self._work.said.append(f"the service is {service.state_name} by now: it was asked for nothing")
            return
        for termination in decision.terminations:
            self._work.attempt(lambda termination=termination: self._terminate(termination, service))
        if decision.growth is not None:
            self._work.attempt(lambda: self._grow(decision.growth, service))

    def _terminate(self, termination: Termination, service: Service) -> None:
        work = self._work
        node = work.slurm.node(termination.node_name)
        if service.role_of(termination.vm_id) is None or not termination.still_holds(node):
            state = "not registered" if node is None else f"{node.state} with the reason '{node.reason}'"
            work.said.append(f"VM {termination.vm_id} was not terminated: its node is {state} by now")
            return
        work.direct = before_terminate(work.direct, termination.node_name, work.reading.now)
        self._remember(work.direct)
        try:
            work.client.terminate_vm(termination.vm_id)
        except OneGateError as error:
            if error.status is None or error.status >= 500:
                raise  # it may have been taken
            work.direct = after_refused_terminate(
                work.direct, termination.node_name, error.status == 403, work.reading.now
            )
            self._say_refusal(error)
            return
        self.terminated.append(termination.vm_id)

    def _grow(self, growth: Growth, service: Service) -> None:
        """Never to fewer than there are: OneFlow would remove the oldest, busy or not."""
        work = self._work
        role = service.role(growth.role_name)
        if role is None or role.cardinality != growth.cardinality_before:
            work.said.append(f"role {growth.role_name} has another cardinality by now: it was not changed")
            return
        try:
            work.client.put_cardinality(growth.role_name, growth.cardinality)
        except OneGateError as error:
            if error.status not in (400, 403):
                raise
            # The same 400 comes while something else is being scaled.
            if error.status == 403 or work.client.get_service().is_running:
                work.direct = after_refused_growth(work.direct, growth, error.status == 403, work.reading.now)
                self._say_refusal(error)
            return
        self.grown = growth

    def _say_refusal(self, error: OneGateError) -> None:
        lasting = ": the pool keeps its size, and it is tried again in a day" if error.status == 403 else ""
        self._work.said.append(f"{error.sentence.rstrip('.')}{lasting}")
