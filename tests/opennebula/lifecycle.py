# SPDX-License-Identifier: GPL-3.0-or-later
"""A service's life between its creation and its end: networks, roles in their order, scaling, cooldown, removal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from tests.opennebula import deployment_order, service_templates
from tests.opennebula.clock import Clock
from tests.opennebula.conditions import Conditions
from tests.opennebula.oneflow_errors import OneFlowError, ServerFault
from tests.opennebula.records import Records
from tests.opennebula.role_nodes import RoleNodes
from tests.opennebula.server_log import ServerLog
from tests.opennebula.services import Service
from tests.opennebula.settings import Settings
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState, can_scale, can_undeploy
from tests.opennebula.waits import Finish, Wait, Waits
from tests.opennebula.watchdog import Watchdog

log = logging.getLogger(__name__)


class LifeCycle:
    """What OneFlow calls its life cycle manager; each step ends in a wait, whose end starts the next step."""

    def __init__(
        self,
        clock: Clock,
        services: dict[int, Service],
        nodes: RoleNodes,
        waits: Waits,
        watchdog: Watchdog,
        records: Records,
        server_log: ServerLog,
        settings: Settings,
        conditions: Conditions,
    ) -> None:
        self._clock = clock
        self._services = services
        self._nodes = nodes
        self._waits = waits
        self._watchdog = watchdog
        self._records = records
        self._server_log = server_log
        self._settings = settings
        self._conditions = conditions
        watchdog.on_empty = self.undeploy

    # --- deployment ---

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

    def _after(self, service: Service, seconds: float, call: Callable[[], None]) -> None:
        def if_it_still_exists() -> None:
            if service.id in self._services:
                call()

        service.timer = self._clock.call_later(seconds, if_it_still_exists)

    def _deploy(self, service: Service) -> None:
        names = deployment_order.roles_to_deploy(service.roles, service.deployment)
        if not names:
            if service.all_roles(RoleState.RUNNING):
                self._records.set_state(service, ServiceState.RUNNING)
                self._watchdog.take(service)
            return
        try:
            self._deploy_roles(service, names, RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING)
        except ServerFault as error:
            # only the journal of the real server shows it; the service stays as it is
            log.error("service %s stays in %s: %s", service.id, service.state.name, error)
        except OneFlowError as error:
            self._server_log.error("LCM", str(error))
            self._records.set_state(service, ServiceState.FAILED_DEPLOYING)
        else:
            on_hold = service.body.get("on_hold")
            self._records.set_state(service, ServiceState.HOLD if on_hold else ServiceState.DEPLOYING)

    def _deploy_roles(self, service: Service, names: list[str], success: RoleState, failure: RoleState) -> None:
        """:raises OneFlowError: when the VMs of a role cannot be made; the rest is not tried."""
        for name in names:
            role = service.role(name)
            is_new = role["state"] == RoleState.PENDING
            parents = [service.role(parent) for parent in role.get("parents") or []]
            if is_new and (service.body.get("on_hold") or any(parent and parent["on_hold"] for parent in parents)):
                role["on_hold"] = True
            try:
                created = self._nodes.create(service, role)
            except OneFlowError as error:
                self._server_log.error("LCM", str(error))
                self._records.set_role_state(service, role, failure)
                raise
            if role["on_hold"] and is_new:
                self._records.set_role_state(service, role, RoleState.HOLD)
                self._wait(service, name, created, (VmState.HOLD, LcmState.LCM_INIT), self._held, self._held)
                continue
            self._records.set_role_state(service, role, success)
            if success == RoleState.SCALING:
                self.wait_for_start(service, role, created, self.scaled_up, self.scaling_failed)
            else:
                self.wait_for_start(service, role, created, self.deployed, self.deployment_failed)

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
        self._waits.start(Wait(service.id, role_name, list(vm_ids), target, success, failure))

    def deployed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        self._records.set_role_state(service, service.role(wait.role_name), RoleState.RUNNING)
        if service.all_roles(RoleState.RUNNING):
            self._records.set_state(service, ServiceState.RUNNING)
            self._watchdog.take(service)
        elif service.deployment == "straight":
            names = deployment_order.roles_to_deploy(service.roles, service.deployment)
            try:
                self._deploy_roles(service, names, RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING)
            except OneFlowError:
                # the role has failed, the service keeps its state
                pass
        self._watchdog.delete_if_empty(service)

    def deployment_failed(self, wait: Wait) -> None:
        self._failed(wait, ServiceState.FAILED_DEPLOYING, RoleState.FAILED_DEPLOYING)

    def _failed(self, wait: Wait, state: ServiceState, role_state: RoleState) -> None:
        service = self._services[wait.service_id]
        self._waits.cancel(service.id)
        self._records.set_state(service, state)
        self._records.set_role_state(service, service.role(wait.role_name), role_state)

    # --- hold ---

    def _held(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        if service.all_roles(RoleState.HOLD):
            if service.state != ServiceState.HOLD:
                self._records.set_state(service, ServiceState.HOLD)
        elif service.deployment == "straight":
            names = deployment_order.roles_to_hold(service.roles, service.deployment)
            self._deploy_roles(service, names, RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING)

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
        self._records.set_role_state(service, service.role(wait.role_name), RoleState.RUNNING)
        if service.all_roles(RoleState.RUNNING):
            self._records.set_state(service, ServiceState.RUNNING)
            self._watchdog.take(service)
        elif service.deployment == "straight":
            self._release_roles(service)

    # --- scaling ---

    def scale(self, service: Service, role_name: str, cardinality: int, force: bool | None = False) -> None:
        """Start to bring a role to a cardinality.

        The watchdog lets go of the service first and takes it back after the cooldown. A refusal because of the role
        or its cardinality leaves it without the watchdog, as in OneFlow.

        :param force: ignore the role's bounds; None, as in a request without it, is an exception in OneFlow.
        :raises OneFlowError: when the service's state, the role's bounds or the number itself forbid it.
        """
        if not can_scale(service.state):
            raise OneFlowError(f"Service cannot be scaled in state: {service.state.name}")
        self._watchdog.let_go(service)
        role = service.role(role_name)
        if role is None:
            raise OneFlowError(f"Role {role_name} not found")
        if force is None:
            raise ServerFault("unexpected token: force has no value")
        refusal = None if force else bounds_refusal(role, cardinality)
        if refusal:
            self._watchdog.take(service)
            raise OneFlowError(f"Can't scale service {service.id}: {refusal}")
        change = cardinality - role["cardinality"]
        self._records.set_cardinality(service, role, cardinality)
        if change == 0:
            raise OneFlowError(f"Cardinality of {role_name} is already at {cardinality}")
        if change > 0:
            role["scale_way"] = 0
            try:
                self._deploy_roles(service, [role_name], RoleState.SCALING, RoleState.FAILED_SCALING)
            except OneFlowError:
                self._records.set_state(service, ServiceState.FAILED_SCALING)
                raise
        else:
            role["scale_way"] = 1
            leaving = self._nodes.terminate(service, role)
            self._records.set_role_state(service, role, RoleState.SCALING)
            self.wait_for_end(service, role, leaving, self.scaled_down, self.scaling_failed)
        self._records.set_state(service, ServiceState.SCALING)

    def scaled_up(self, wait: Wait) -> None:
        self._cool_down(self._services[wait.service_id], wait.role_name)

    def scaled_down(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        self._records.remove_nodes(service, service.role(wait.role_name), wait.reached)
        self._cool_down(service, wait.role_name)

    def _cool_down(self, service: Service, role_name: str) -> None:
        role = service.role(role_name)
        self._records.set_state(service, ServiceState.COOLDOWN)
        self._records.set_role_state(service, role, RoleState.COOLDOWN)
        role.pop("scale_way", None)
        seconds = role["cooldown"]
        self._records.event(service, "COOLDOWN", f"for {seconds} s", role)
        self._server_log.info("EM", f"Waiting {seconds}s for cooldown for service {service.id} and role {role_name}.")
        self._after(service, seconds, lambda: self._cooled_down(service, role))

    def _cooled_down(self, service: Service, role: dict[str, Any]) -> None:
        self._records.set_state(service, ServiceState.RUNNING)
        self._records.set_role_state(service, role, RoleState.RUNNING)
        self._watchdog.take(service)
        self._watchdog.delete_if_empty(service)

    def scaling_failed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        role = service.role(wait.role_name)
        self._failed(wait, ServiceState.FAILED_SCALING, RoleState.FAILED_SCALING)
        if role.get("scale_way") == 1:
            self._records.remove_nodes(service, role, wait.reached)

    # --- removal ---

    def undeploy(self, service: Service, force: bool = False) -> None:
        """Start to remove a service; it disappears when all its VMs are gone.

        :raises OneFlowError: in a state that does not allow it, unless forced.
        """
        if not can_undeploy(service.state) and not force:
            raise OneFlowError(f"Service cannot be undeployed in state: {service.state.name}")
        self._watchdog.let_go(service)
        names = deployment_order.roles_to_shut_down(service.roles, service.deployment)
        if not names:
            self._forget(service)
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
        self._after(service, self._settings.networks_seconds, lambda: self._forget(service))

    def undeployment_failed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        self._failed(wait, ServiceState.FAILED_UNDEPLOYING, RoleState.FAILED_UNDEPLOYING)
        self._records.remove_nodes(service, service.role(wait.role_name), wait.reached)

    def _forget(self, service: Service) -> None:
        self._records.event(service, "SERVICE_STATE", f"{service.state.name} -> DONE, deleted")
        self._services.pop(service.id, None)
        self._clock.changed.notify_all()

    # --- roles of a running service ---

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
            self._deploy_roles(service, [role["name"]], RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING)
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
        self.wait_for_end(service, role, leaving, self._role_removed, self.undeployment_failed)
        self._records.set_state(service, ServiceState.UNDEPLOYING)

    @staticmethod
    def _refuse_outside_running(service: Service) -> None:
        if service.state != ServiceState.RUNNING:
            raise OneFlowError(f"Cannot modify roles in state: {service.state.name}")

    def _role_removed(self, wait: Wait) -> None:
        service = self._services[wait.service_id]
        service.body["roles"] = [role for role in service.roles if role["name"] != wait.role_name]
        if not service.roles:
            self._forget(service)
            return
        self._records.set_state(service, ServiceState.RUNNING)
        if service.all_roles(RoleState.RUNNING):
            self._watchdog.take(service)


def bounds_refusal(role: Mapping[str, Any], cardinality: int) -> str | None:
    """Why a cardinality is out of the role's bounds, None when it is not."""
    minimum, maximum = role.get("min_vms"), role.get("max_vms")
    if cardinality < int(minimum or 0):
        return f"Minimum cardinality is {'' if minimum is None else minimum}"
    if maximum is not None and cardinality > int(maximum):
        return f"Maximum cardinality is {maximum}"
    return None
