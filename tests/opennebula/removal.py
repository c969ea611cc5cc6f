# SPDX-License-Identifier: GPL-3.0-or-later
"""Removing a service: its roles in reverse order, then itself."""

from __future__ import annotations

from tests.opennebula import deployment_order
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.services import Service
from tests.opennebula.states import RoleState, ServiceState, can_undeploy
from tests.opennebula.steps import Parts, Steps
from tests.opennebula.waits import Wait


class Removal(Steps):
    """Until the service is gone."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._watchdog.on_empty = self.undeploy

    def undeploy(self, service: Service, force: bool = False) -> None:
        """Start to remove a service; it disappears when all its VMs are gone.

        :raises OneFlowError: in a state that does not allow it, unless forced.
        """
        if not can_undeploy(service.state) and not force:
            raise OneFlowError(f"Service cannot be undeployed in state: {service.state.name}")
        self._watchdog.let_go(service)
        names = deployment_order.roles_to_shut_down(service.roles, service.deployment)
        if not names:
            self.forget(service)
            return
        self._undeploy_roles(service, names)
        self._records.set_state(service, ServiceState.UNDEPLOYING)

    def _undeploy_roles(self, service: Service, names: list[str]) -> None:
        for name in names:
            role = service.role(name)
            leaving = self._nodes.terminate(service, role)
            self._records.set_role_state(service, role, RoleState.UNDEPLOYING)
            self.wait_for_end(service, role, leaving, self.undeployed, self.undeployment_failed)

    def undeployed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        role = service.role(wait.role_name)
        self._records.set_role_state(service, role, RoleState.DONE)
        self._records.remove_nodes(service, role, wait.reached)
        if service.all_roles(RoleState.DONE):
            self._records.set_state(service, ServiceState.UNDEPLOYING_NETS)
            self.wait_for_removed_networks(service)
        elif service.deployment == "straight":
            self._undeploy_roles(service, deployment_order.roles_to_shut_down(service.roles, service.deployment))

    def wait_for_removed_networks(self, service: Service) -> None:
        """A service's networks existed before it and stay: there is nothing to wait for."""
        self._server_log.info("EM", "Waiting networks [] to be (DONE)")
        self._after(service, self._settings.networks_seconds, lambda: self.forget(service))

    def undeployment_failed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        self._failed(wait, ServiceState.FAILED_UNDEPLOYING, RoleState.FAILED_UNDEPLOYING)
        self._records.remove_nodes(service, service.role(wait.role_name), wait.reached)

    def forget(self, service: Service) -> None:
        """The service is no more."""
        self._records.event(service, "SERVICE_STATE", f"{service.state.name} -> DONE, deleted")
        self._services.pop(service.id, None)
        self._clock.changed.notify_all()
