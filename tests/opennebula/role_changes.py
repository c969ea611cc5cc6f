# SPDX-License-Identifier: GPL-3.0-or-later
"""Adding a role to a running service, and removing one."""

from __future__ import annotations

from typing import Any

from tests.opennebula import service_templates
from tests.opennebula.deployment import Deployment
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.removal import Removal
from tests.opennebula.services import Service
from tests.opennebula.states import RoleState, ServiceState
from tests.opennebula.steps import Parts, Steps
from tests.opennebula.waits import Wait


class RoleChanges(Steps):
    """From RUNNING over DEPLOYING or UNDEPLOYING to RUNNING."""

    def __init__(self, parts: Parts, deployment: Deployment, removal: Removal) -> None:
        super().__init__(parts)
        self._deployment = deployment
        self._removal = removal

    def add_role(self, service: Service, role: dict[str, Any]) -> None:
        """:raises OneFlowError: outside RUNNING, or when the name is taken."""
        self._refuse_outside_running(service)
        if service.role(role["name"]):
            raise OneFlowError(f"Role {role['name']} already exists")
        self._watchdog.let_go(service)
        role["state"] = int(RoleState.PENDING)
        service.roles.append(role)
        service.fill_role_defaults()
        role["template_contents"] = service_templates.fill_template_contents(service.body)[-1]
        try:
            self._deployment.start_role(
                service,
                role["name"],
                (RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING),
                self._deployment.deployed,
                self._deployment.deployment_failed,
            )
        except OneFlowError:
            self._records.set_state(service, ServiceState.FAILED_DEPLOYING)
            raise
        self._records.set_state(service, ServiceState.DEPLOYING)

    def remove_role(self, service: Service, role_name: str) -> None:
        """:raises OneFlowError: outside RUNNING, or for an unknown role."""
        self._refuse_outside_running(service)
        role = service.role(role_name)
        if role is None:
            raise OneFlowError(f"Role {role_name} does not exist")
        self._watchdog.let_go(service)
        leaving = self._nodes.terminate(service, role)
        self._records.set_role_state(service, role, RoleState.UNDEPLOYING)
        self.wait_for_end(service, role, leaving, self._role_removed, self._removal.undeployment_failed)
        self._records.set_state(service, ServiceState.UNDEPLOYING)

    @staticmethod
    def _refuse_outside_running(service: Service) -> None:
        if service.state != ServiceState.RUNNING:
            raise OneFlowError(f"Cannot modify roles in state: {service.state.name}")

    def _role_removed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        service.body["roles"] = [role for role in service.roles if role["name"] != wait.role_name]
        if not service.roles:
            self._removal.forget(service)
            return
        self._records.set_state(service, ServiceState.RUNNING)
        if service.all_roles(RoleState.RUNNING):
            self._watchdog.take(service)
