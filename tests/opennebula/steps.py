# SPDX-License-Identifier: GPL-3.0-or-later
"""What every step of a service's life is made of: parts of OneFlow, and waits whose end starts the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.opennebula.clock import Clock
from tests.opennebula.conditions import Conditions
from tests.opennebula.records import Records
from tests.opennebula.role_nodes import RoleNodes
from tests.opennebula.server_log import ServerLog
from tests.opennebula.services import Service
from tests.opennebula.settings import Settings
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState
from tests.opennebula.vms import VmPool
from tests.opennebula.waits import Finish, Wait, Waits
from tests.opennebula.watchdog import Watchdog


@dataclass(frozen=True)
class Parts:
    """The parts of one OneFlow that work together."""

    clock: Clock
    services: dict[int, Service]
    vms: VmPool
    nodes: RoleNodes
    waits: Waits
    watchdog: Watchdog
    records: Records
    server_log: ServerLog
    settings: Settings
    conditions: Conditions


class Steps:
    """The common ground of deployment, scaling and removal."""

    def __init__(self, parts: Parts) -> None:
        self._clock = parts.clock
        self._services = parts.services
        self._nodes = parts.nodes
        self._waits = parts.waits
        self._watchdog = parts.watchdog
        self._records = parts.records
        self._server_log = parts.server_log
        self._settings = parts.settings
        self._conditions = parts.conditions

    def _after(self, service: Service, seconds: float, call: Callable[[], None]) -> None:
        def if_it_still_exists() -> None:
            if service.id in self._services:
                call()

        service.timer = self._clock.call_later(seconds, if_it_still_exists)

    def wait_for_start(
        self, service: Service, role: Mapping[str, Any], vm_ids: list[int], success: Finish, failure: Finish
    ) -> None:
        """With the gate for the reports, without it for RUNNING."""
        target = None if service.waits_for_ready else (VmState.ACTIVE, LcmState.RUNNING)
        self._wait(service, role["name"], vm_ids, target, success, failure)

    def wait_for_end(
        self, service: Service, role: Mapping[str, Any], vm_ids: list[int], success: Finish, failure: Finish
    ) -> None:
        self._wait(service, role["name"], vm_ids, (VmState.DONE, LcmState.LCM_INIT), success, failure)

    def _wait(
        self,
        service: Service,
        role_name: str,
        vm_ids: list[int],
        target: tuple[VmState, LcmState] | None,
        success: Finish,
        failure: Finish,
    ) -> None:
        self._waits.start(
            Wait(service.id, role_name, list(vm_ids), target, self._unless_gone(success), self._unless_gone(failure))
        )

    def _unless_gone(self, finish: Finish) -> Finish:
        """The service may be gone by the time a wait for it ends."""

        def finish_it(wait: Wait) -> None:
            if wait.service_id in self._services:
                finish(wait)

        return finish_it

    def _failed(self, wait: Wait, state: ServiceState, role_state: RoleState) -> None:
        service = self._services[wait.service_id]
        self._waits.cancel(service.id)
        self._records.set_state(service, state)
        self._records.set_role_state(service, service.role(wait.role_name), role_state)
