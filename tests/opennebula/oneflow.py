# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow: service templates, services, their life cycle, watchdog and autoscaler.

Every method is called under the clock's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tests.opennebula import deployment_order, elasticity, instantiation, service_templates, watchdog
from tests.opennebula.clock import Clock
from tests.opennebula.events import EventLog
from tests.opennebula.services import TEMPLATE_DOCUMENT, Service, document, role_node_ids
from tests.opennebula.settings import Settings
from tests.opennebula.states import LcmState, RoleState, ServiceState, VmState, can_scale, can_undeploy
from tests.opennebula.vms import NODE_INFO, VirtualMachine, VmError, VmPool
from tests.opennebula.waits import Finish, Wait, Waits

log = logging.getLogger(__name__)


class OneFlowError(Exception):
    """A request is refused; the text is OneFlow's."""


class NoSuchDocument(OneFlowError):
    """There is no service or template with this id."""

    def __init__(self, document_id: object) -> None:
        super().__init__(f"[one.document.info] Error getting document [{document_id}].")


class OneFlow:
    """All service templates and services."""

    def __init__(
        self,
        clock: Clock,
        vms: VmPool,
        vm_templates: Mapping[int, Mapping[str, Any]],
        events: EventLog,
        settings: Settings,
    ) -> None:
        self._clock = clock
        self._vms = vms
        self._vm_templates = vm_templates
        self._events = events
        self._settings = settings
        self._waits = Waits(clock, vms.vms, settings.wait_timeout_seconds)
        self._next_document = 0
        self.templates: dict[int, dict[str, Any]] = {}
        self.services: dict[int, Service] = {}
        self.available = True
        self._stopped = False
        vms.on_state(self._vm_changed_state)
        vms.on_update(self._waits.hear_update)

    def start(self) -> None:
        """Start the autoscaler."""
        self._clock.call_later(0, self._autoscale_forever)

    def stop(self) -> None:
        """React to nothing any more: no VM is made, no policy evaluated."""
        self._stopped = True
        for service in self.services.values():
            service.watched = False
            self._waits.cancel(service.id)

    # --- documents ---

    def create_template(self, template: Mapping[str, Any]) -> int:
        """:raises service_templates.ValidationError: when the template is refused."""
        body = service_templates.validate(template)
        body["registration_time"] = int(self._clock.now())
        return self._add(self.templates, body)

    def template_document(self, template_id: int) -> dict[str, Any]:
        """:raises NoSuchDocument: for an unknown id."""
        if template_id not in self.templates:
            raise NoSuchDocument(template_id)
        return document(template_id, TEMPLATE_DOCUMENT, self.templates[template_id])

    def service(self, service_id: int) -> Service:
        """:raises NoSuchDocument: for an unknown id."""
        if service_id not in self.services:
            raise NoSuchDocument(service_id)
        return self.services[service_id]

    def instantiate(self, template_id: int, extra: Mapping[str, Any]) -> Service:
        """A new service, still PENDING.

        :raises NoSuchDocument: for an unknown template.
        :raises service_templates.ValidationError: when the merged template is refused or an input has no value.
        """
        if template_id not in self.templates:
            raise NoSuchDocument(template_id)
        merged = service_templates.merge_for_instance(self.templates[template_id], extra)
        body = service_templates.validate(merged)
        service_templates.check_inputs(body)
        body["state"] = int(ServiceState.PENDING)
        for role in body["roles"]:
            role.setdefault("state", int(RoleState.PENDING))
        body["start_time"] = int(self._clock.now())
        service = Service(self._next_document, body)
        self._add(self.services, service)
        self._event(service, "SERVICE_CREATED", f"{service.name} created")
        self._clock.call_later(0, lambda: self._deploy_networks(service))
        return service

    def _add(self, documents: dict[int, Any], item: Any) -> int:
        number = self._next_document
        self._next_document += 1
        documents[number] = item
        return number

    # --- deployment ---

    def _deploy_networks(self, service: Service) -> None:
        service.fill_role_defaults()
        contents_by_role = service_templates.fill_template_contents(service.body)
        for role, contents in zip(service.roles, contents_by_role, strict=True):
            role["template_contents"] = contents
        self._set_state(service, ServiceState.DEPLOYING_NETS)
        self._clock.call_later(self._settings.networks_seconds, lambda: self._deploy(service))

    def _deploy(self, service: Service) -> None:
        names = deployment_order.roles_to_deploy(service.roles, service.deployment)
        if not names:
            if service.all_roles(RoleState.RUNNING):
                self._set_state(service, ServiceState.RUNNING)
                self._watch(service)
            return
        unknown = [name for name in names if service.role(name)["template_id"] not in self._vm_templates]
        if unknown:
            # the real server dies of an exception here that only its journal shows; the service stays as it is
            log.error("service %s: no VM template for %s, it stays in %s", service.id, unknown, service.state.name)
            return
        deployed = self._deploy_roles(service, names, RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING)
        self._set_state(service, ServiceState.DEPLOYING if deployed else ServiceState.FAILED_DEPLOYING)

    def _deploy_roles(self, service: Service, names: list[str], success: RoleState, failure: RoleState) -> bool:
        for name in names:
            role = service.role(name)
            try:
                created = self._create_nodes(service, role)
            except VmError as error:
                message = f"Role {name} : Instantiate failed for template {role['template_id']}; {error}"
                service.log(self._clock.now(), message, "E")
                self._set_role_state(service, role, failure)
                return False
            self._set_role_state(service, role, success)
            if success == RoleState.SCALING:
                self._wait_for_start(service, role, created, self._scaled_up, self._scaling_failed)
            else:
                self._wait_for_start(service, role, created, self._deployed, self._deployment_failed)
        return True

    def _create_nodes(self, service: Service, role: dict[str, Any]) -> list[int]:
        created: list[int] = []
        if self._stopped:
            raise VmError("the cloud is being shut down")
        missing = role["cardinality"] - len(role["nodes"])
        if missing == 0:
            return created
        parents = {
            parent: [self._vms.get(vm_id).document() for vm_id in role_node_ids(service.role(parent) or {})]
            for parent in role.get("parents") or []
        }
        template_id = role["template_id"]
        template = instantiation.role_vm_template(self._vm_templates[template_id], role, service.id, parents)
        role.setdefault("last_vmname", 0)
        for _ in range(missing):
            name = instantiation.vm_name(role["name"], role["last_vmname"], service.id)
            role["last_vmname"] += 1
            vm = self._vms.create(name, template, template_id)
            shown = vm.document()
            role["nodes"].append(
                {"deploy_id": vm.id, "vm_info": {"VM": {attribute: shown[attribute] for attribute in NODE_INFO}}}
            )
            self._event(service, "NODE_ADDED", name, role, vm.id)
            created.append(vm.id)
        return created

    def _wait_for_start(
        self, service: Service, role: dict[str, Any], vm_ids: list[int], success: Finish, failure: Finish
    ) -> None:
        target = None if service.body.get("ready_status_gate") else (VmState.ACTIVE, LcmState.RUNNING)
        self._waits.start(Wait(service.id, role["name"], list(vm_ids), target, success, failure))

    def _deployed(self, wait: Wait) -> None:
        service = self.services[wait.service_id]
        self._set_role_state(service, service.role(wait.role_name), RoleState.RUNNING)
        if service.all_roles(RoleState.RUNNING):
            self._set_state(service, ServiceState.RUNNING)
            self._watch(service)
        elif service.deployment == "straight":
            names = deployment_order.roles_to_deploy(service.roles, service.deployment)
            self._deploy_roles(service, names, RoleState.DEPLOYING, RoleState.FAILED_DEPLOYING)

    def _deployment_failed(self, wait: Wait) -> None:
        service = self.services[wait.service_id]
        self._waits.cancel(service.id)
        self._set_state(service, ServiceState.FAILED_DEPLOYING)
        self._set_role_state(service, service.role(wait.role_name), RoleState.FAILED_DEPLOYING)

    # --- scaling ---

    def scale(self, service: Service, role_name: str, cardinality: int, force: bool = False) -> None:
        """Start to bring a role to a cardinality.

        The watchdog lets go of the service first and takes it back after the cooldown. A refusal because of the role
        or its cardinality leaves it without the watchdog, as in OneFlow.

        :raises OneFlowError: when the service's state, the role's bounds or the number itself forbid it.
        """
        if not can_scale(service.state):
            raise OneFlowError(f"Service cannot be scaled in state: {service.state.name}")
        service.watched = False
        role = service.role(role_name)
        if role is None:
            raise OneFlowError(f"Role {role_name} not found")
        refusal = None if force else bounds_refusal(role, cardinality)
        if refusal:
            self._watch(service)
            raise OneFlowError(f"Can't scale service {service.id}: {refusal}")
        change = cardinality - role["cardinality"]
        self._set_cardinality(service, role, cardinality)
        if change == 0:
            raise OneFlowError(f"Cardinality of {role_name} is already at {cardinality}")
        if change > 0:
            role["scale_way"] = 0
            started = self._deploy_roles(service, [role_name], RoleState.SCALING, RoleState.FAILED_SCALING)
            self._set_state(service, ServiceState.SCALING if started else ServiceState.FAILED_SCALING)
            return
        role["scale_way"] = 1
        leaving = self._terminate_nodes(role)
        self._set_role_state(service, role, RoleState.SCALING)
        self._wait_for_end(service, role, leaving, self._scaled_down, self._scaling_failed)
        self._set_state(service, ServiceState.SCALING)

    def _scaled_up(self, wait: Wait) -> None:
        self._cool_down(self.services[wait.service_id], wait.role_name)

    def _scaled_down(self, wait: Wait) -> None:
        service = self.services[wait.service_id]
        self._remove_nodes(service, service.role(wait.role_name), wait.reached)
        self._cool_down(service, wait.role_name)

    def _cool_down(self, service: Service, role_name: str) -> None:
        role = service.role(role_name)
        self._set_state(service, ServiceState.COOLDOWN)
        self._set_role_state(service, role, RoleState.COOLDOWN)
        role.pop("scale_way", None)
        self._event(service, "COOLDOWN", f"for {role['cooldown']} s", role)
        self._clock.call_later(role["cooldown"], lambda: self._cooled_down(service, role))

    def _cooled_down(self, service: Service, role: dict[str, Any]) -> None:
        if service.id not in self.services or service.state != ServiceState.COOLDOWN:
            return
        self._set_state(service, ServiceState.RUNNING)
        self._set_role_state(service, role, RoleState.RUNNING)
        self._watch(service)

    def _scaling_failed(self, wait: Wait) -> None:
        service = self.services[wait.service_id]
        self._waits.cancel(service.id)
        self._set_state(service, ServiceState.FAILED_SCALING)
        self._set_role_state(service, service.role(wait.role_name), RoleState.FAILED_SCALING)

    def _terminate_nodes(self, role: dict[str, Any]) -> list[int]:
        leaving = deployment_order.nodes_to_terminate(role_node_ids(role), role["cardinality"])
        for vm_id in leaving:
            vm = self._vms.get(vm_id)
            try:
                self._vms.terminate(vm)
            except VmError as error:
                log.error("role %s: terminate failed for VM %s, by force now; %s", role["name"], vm_id, error)
                if vm.state != VmState.DONE:
                    self._vms.terminate(vm, hard=True)
        return leaving

    def _wait_for_end(
        self, service: Service, role: dict[str, Any], vm_ids: list[int], success: Finish, failure: Finish
    ) -> None:
        target = (VmState.DONE, LcmState.LCM_INIT)
        self._waits.start(Wait(service.id, role["name"], list(vm_ids), target, success, failure))

    # --- deletion ---

    def delete(self, service: Service) -> None:
        """Start to undeploy a service; it disappears when all its VMs are gone.

        :raises OneFlowError: in a state that does not allow it.
        """
        if not can_undeploy(service.state):
            raise OneFlowError(f"Service cannot be undeployed in state: {service.state.name}")
        service.watched = False
        names = deployment_order.roles_to_shut_down(service.roles, service.deployment)
        if not names:
            self._forget(service)
            return
        self._undeploy_roles(service, names)
        self._set_state(service, ServiceState.UNDEPLOYING)

    def _undeploy_roles(self, service: Service, names: list[str]) -> None:
        for name in names:
            role = service.role(name)
            leaving = self._terminate_nodes(role)
            self._set_role_state(service, role, RoleState.UNDEPLOYING)
            self._wait_for_end(service, role, leaving, self._undeployed, self._undeployment_failed)

    def _undeployed(self, wait: Wait) -> None:
        service = self.services[wait.service_id]
        role = service.role(wait.role_name)
        self._set_role_state(service, role, RoleState.DONE)
        self._remove_nodes(service, role, wait.reached)
        if service.all_roles(RoleState.DONE):
            self._set_state(service, ServiceState.UNDEPLOYING_NETS)
            self._clock.call_later(self._settings.networks_seconds, lambda: self._forget(service))
        elif service.deployment == "straight":
            self._undeploy_roles(service, deployment_order.roles_to_shut_down(service.roles, service.deployment))

    def _undeployment_failed(self, wait: Wait) -> None:
        service = self.services[wait.service_id]
        self._waits.cancel(service.id)
        self._set_state(service, ServiceState.FAILED_UNDEPLOYING)
        self._set_role_state(service, service.role(wait.role_name), RoleState.FAILED_UNDEPLOYING)

    def _forget(self, service: Service) -> None:
        self._event(service, "SERVICE_STATE", f"{service.state.name} -> DONE, deleted")
        self.services.pop(service.id, None)
        self._clock.changed.notify_all()

    # --- watchdog ---

    def _watch(self, service: Service) -> None:
        service.watched = True
        for vm_id in list(service.node_ids()):
            self._apply_verdict(service, self._vms.get(vm_id))

    def _vm_changed_state(self, vm: VirtualMachine) -> None:
        self._waits.hear_state(vm)
        service = self.services.get(vm.service_id) if vm.service_id is not None else None
        if service is not None and service.watched:
            self._apply_verdict(service, vm)

    def _apply_verdict(self, service: Service, vm: VirtualMachine) -> None:
        role = service.role(vm.role_name)
        found = watchdog.verdict(vm.state, vm.lcm_state)
        if role is None or found is None:
            return
        if found == watchdog.Verdict.WARNING:
            if service.state != ServiceState.WARNING:
                self._set_state(service, ServiceState.WARNING)
            if role["state"] != RoleState.WARNING:
                self._set_role_state(service, role, RoleState.WARNING)
        elif found == watchdog.Verdict.RUNNING:
            if role["state"] != RoleState.RUNNING:
                self._set_role_state(service, role, RoleState.RUNNING)
            if service.all_roles(RoleState.RUNNING) and service.state != ServiceState.RUNNING:
                self._set_state(service, ServiceState.RUNNING)
        elif vm.id in role_node_ids(role):
            # the state stays as it is: a WARNING outlives the VM that caused it
            if role["cardinality"] > 0:
                self._set_cardinality(service, role, role["cardinality"] - 1)
            self._remove_nodes(service, role, [vm.id])

    # --- autoscaler ---

    def _autoscale_forever(self) -> None:
        if self._stopped:
            return
        try:
            self.autoscale()
        except Exception as error:
            # the real thread ends silently, too: services look healthy and no policy is ever evaluated again
            log.exception("the autoscaler has stopped")
            self._events.add(self._clock.now(), "AUTOSCALER_STOPPED", repr(error))
            return
        self._clock.call_later(self._settings.autoscaler_interval_seconds, self._autoscale_forever)

    def autoscale(self) -> None:
        """One round: every service in RUNNING, every role, one decision each."""
        for service in list(self.services.values()):
            if service.state == ServiceState.RUNNING:
                for role in list(service.roles):
                    self._autoscale_role(service, role)

    def _autoscale_role(self, service: Service, role: dict[str, Any]) -> None:
        readings = [self._reading(self._vms.get(vm_id)) for vm_id in role_node_ids(role)]
        decision = elasticity.decide(role, lambda name: elasticity.mean_of(readings, name), int(self._clock.now()))
        if decision.policies:
            role["elasticity_policies"] = decision.policies
        for index, reading in decision.readings:
            policy = reading.policy
            self._event(
                service,
                "POLICY_EVALUATED",
                f"#{index} {policy['expression_evaluated']}: {str(reading.holds).lower()}, "
                f"true_evals {policy['true_evals']} of {policy.get('period_number') or 0}",
                role,
            )
        if decision.change == 0:
            return
        role["cooldown"] = decision.cooldown_seconds
        wanted = role["cardinality"] + decision.change
        if decision.fired is None:
            self._event(service, "MINIMUM_FIRED", f"below min_vms: {decision.change:+d}", role)
        else:
            policy = decision.policies[decision.fired]
            text = f"#{decision.fired} {policy['expression_evaluated']}: {decision.change:+d}"
            self._event(service, "POLICY_FIRED", text, role)
        try:
            self.scale(service, role["name"], wanted)
        except OneFlowError as error:
            log.error("service %s role %s: %s", service.id, role["name"], error)

    @staticmethod
    def _reading(vm: VirtualMachine) -> elasticity.Reading:
        shown = vm.document()
        return elasticity.Reading(vm.state, vm.lcm_state, (shown["USER_TEMPLATE"], {}, shown["TEMPLATE"], shown))

    # --- changes that are recorded ---

    def _set_state(self, service: Service, state: ServiceState) -> None:
        before = service.state
        service.body["state"] = int(state)
        service.log(self._clock.now(), f"New state: {state.name}")
        self._event(service, "SERVICE_STATE", f"{before.name} -> {state.name}")
        self._clock.changed.notify_all()

    def _set_role_state(self, service: Service, role: dict[str, Any], state: RoleState) -> None:
        before = RoleState(role["state"])
        role["state"] = int(state)
        if state == RoleState.SCALING:
            for policy in role.get("elasticity_policies") or []:
                policy.pop("true_evals", None)
        self._event(service, "ROLE_STATE", f"{before.name} -> {state.name}", role)
        self._clock.changed.notify_all()

    def _set_cardinality(self, service: Service, role: dict[str, Any], cardinality: int) -> None:
        before = role["cardinality"]
        direction = "up" if cardinality > before else "down"
        service.log(self._clock.now(), f"Role {role['name']} scaling {direction} from {before} to {cardinality} nodes")
        role["cardinality"] = cardinality
        if cardinality != before:
            self._event(service, "CARDINALITY", f"{before} -> {cardinality}", role)

    def _remove_nodes(self, service: Service, role: dict[str, Any], vm_ids: list[int]) -> None:
        for vm_id in vm_ids:
            if vm_id in role_node_ids(role):
                role["nodes"] = [node for node in role["nodes"] if node["deploy_id"] != vm_id]
                self._event(service, "NODE_REMOVED", f"VM {vm_id} has left the role", role, vm_id)
        self._clock.changed.notify_all()

    def _event(
        self, service: Service, kind: str, text: str, role: dict[str, Any] | None = None, vm: int | None = None
    ) -> None:
        role_name = role["name"] if role else None
        self._events.add(self._clock.now(), kind, text, vm=vm, service=service.id, role=role_name)


def bounds_refusal(role: Mapping[str, Any], cardinality: int) -> str | None:
    """Why a cardinality is out of the role's bounds, None when it is not."""
    minimum, maximum = role.get("min_vms"), role.get("max_vms")
    if cardinality < int(minimum or 0):
        return f"Minimum cardinality is {minimum}"
    if maximum is not None and cardinality > int(maximum):
        return f"Maximum cardinality is {maximum}"
    return None
