# SPDX-License-Identifier: GPL-3.0-or-later
"""Deploying a service: its networks, then its roles in their order, or on hold until they are released."""

from __future__ import annotations

import logging

from tests.opennebula import deployment_order, service_templates
from tests.opennebula.oneflow_errors import OneFlowError, ServerFault
from tests.opennebula.services import Service
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState
from tests.opennebula.steps import Steps
from tests.opennebula.waits import Finish, Wait

log = logging.getLogger(__name__)


class Deployment(Steps):
    """From PENDING to RUNNING."""

    def deploy_networks(self, service: Service) -> None:
        """Fill the roles and wait for the networks."""
        service.fill_role_defaults()
        contents_by_role = service_templates.fill_template_contents(service.body)
        for role, contents in zip(service.roles, contents_by_role, strict=True):
            role["template_contents"] = contents
        self._records.set_state(service, ServiceState.DEPLOYING_NETS)
        self.wait_for_networks(service)

    def wait_for_networks(self, service: Service) -> None:
        """Deploy the roles once every network is ready."""
        networks = service_templates.network_ids(service.body)
        self._server_log.info("EM", f"Waiting networks {networks} to be (READY)")
        self._after(service, self._settings.networks_seconds, lambda: self._networks_ready(service, networks))

    def _networks_ready(self, service: Service, networks: list[int]) -> None:
        for network in networks:
            if network in self._conditions.networks_in_error:
                self._server_log.error("EM", f"VNET {network} is in ERROR state")
                self._records.set_state(service, ServiceState.FAILED_DEPLOYING_NETS)
                return
            self._server_log.info("EM", f"VNET {network} reached (READY)")
        self._deploy(service)

    def _deploy(self, service: Service) -> None:
        names = deployment_order.roles_to_deploy(service.roles, service.deployment)
        if not names:
            if service.all_roles(RoleState.RUNNING):
                self._records.set_state(service, ServiceState.RUNNING)
                self._watchdog.take(service)
            return
        try:
            self._deploy_roles(service, names)
        except ServerFault as error:
            # only the journal of the real server shows it; the service stays as it is
            log.error("service %s stays in %s: %s", service.id, service.state.name, error)
        except OneFlowError as error:
            self._server_log.error("LCM", str(error))
            self._records.set_state(service, ServiceState.FAILED_DEPLOYING)
        else:
            on_hold = service.body.get("on_hold")
            self._records.set_state(service, ServiceState.HOLD if on_hold else ServiceState.DEPLOYING)

    def _deploy_roles(self, service: Service, names: list[str]) -> None:
        """:raises OneFlowError: when the VMs of a role cannot be made; the rest is not tried."""
        for name in names:
            self.start_role(
                service,
                name,
                (RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING),
                self.deployed,
                self.deployment_failed,
            )

    def start_role(
        self,
        service: Service,
        name: str,
        states: tuple[RoleState, RoleState],
        success: Finish,
        failure: Finish,
    ) -> None:
        """Make what a role lacks and wait for its start.

        :param states: the role's while it is waited for, and when its VMs cannot be made.
        :raises OneFlowError: when they cannot.
        """
        role = service.role(name)
        is_new = role["state"] == RoleState.PENDING
        parents = [service.role(parent) for parent in role.get("parents") or []]
        if is_new and (service.body.get("on_hold") or any(parent and parent["on_hold"] for parent in parents)):
            role["on_hold"] = True
        try:
            created = self._nodes.create(service, role)
        except OneFlowError as error:
            self._server_log.error("LCM", str(error))
            self._records.set_role_state(service, role, states[1])
            raise
        if role["on_hold"] and is_new:
            self._records.set_role_state(service, role, RoleState.HOLD)
            self._wait(service, name, created, (VmState.HOLD, LcmState.LCM_INIT), self._held, self._held)
        else:
            self._records.set_role_state(service, role, states[0])
            self.wait_for_start(service, role, created, success, failure)

    def deployed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        if not self._runs_with(service, wait.role_name) and service.deployment == "straight":
            names = deployment_order.roles_to_deploy(service.roles, service.deployment)
            self._try_to_deploy_roles(service, names)
        self._watchdog.delete_if_empty(service)

    def _runs_with(self, service: Service, role_name: str) -> bool:
        """The role runs from now on; True when the service does too, since it was the last one."""
        self._records.set_role_state(service, service.role(role_name), RoleState.RUNNING)
        if not service.all_roles(RoleState.RUNNING):
            return False
        self._records.set_state(service, ServiceState.RUNNING)
        self._watchdog.take(service)
        return True

    def _try_to_deploy_roles(self, service: Service, names: list[str]) -> None:
        """The next roles of a service under way: when one fails, the service keeps its state."""
        try:
            self._deploy_roles(service, names)
        except (OneFlowError, ServerFault) as error:
            log.error("service %s stays in %s: %s", service.id, service.state.name, error)

    def deployment_failed(self, wait: Wait) -> None:
        self._failed(wait, ServiceState.FAILED_DEPLOYING, RoleState.FAILED_DEPLOYING)

    # --- hold ---

    def _held(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        if service.all_roles(RoleState.HOLD):
            if service.state != ServiceState.HOLD:
                self._records.set_state(service, ServiceState.HOLD)
        elif service.deployment == "straight":
            names = deployment_order.roles_to_hold(service.roles, service.deployment)
            self._try_to_deploy_roles(service, names)

    def release(self, service: Service) -> None:
        """Let roles on HOLD start, parents first.

        :raises OneFlowError: when there is none.
        """
        if not deployment_order.roles_to_release(service.roles, service.deployment):
            raise OneFlowError("Service has no roles in HOLD")
        self._release_roles(service)
        self._records.set_state(service, ServiceState.DEPLOYING)

    def _release_roles(self, service: Service) -> None:
        for name in deployment_order.roles_to_release(service.roles, service.deployment):
            role = service.role(name)
            released = self._nodes.release(role)
            self._records.set_role_state(service, role, RoleState.DEPLOYING)
            self.wait_for_start(service, role, released, self._released, self.deployment_failed)

    def _released(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        if not self._runs_with(service, wait.role_name) and service.deployment == "straight":
            self._release_roles(service)
