# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow: service templates, services, and what may be asked of them.

Every method is called under the clock's lock. What a service does by itself is in ``deployment``, ``scaling``,
``removal``, ``watchdog`` and ``autoscaler``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.opennebula import old_templates, role_actions, service_templates, service_updates
from tests.opennebula.autoscaler import Autoscaler
from tests.opennebula.clock import Clock
from tests.opennebula.conditions import Conditions
from tests.opennebula.deployment import Deployment
from tests.opennebula.events import EventLog
from tests.opennebula.oneflow_errors import BadRequest, NoSuchDocument, OneFlowError
from tests.opennebula.records import Records
from tests.opennebula.recovery import Recovery
from tests.opennebula.removal import Removal
from tests.opennebula.role_changes import RoleChanges
from tests.opennebula.role_nodes import RoleNodes
from tests.opennebula.scaling import Scaling
from tests.opennebula.server_log import ServerLog
from tests.opennebula.services import Document, Service
from tests.opennebula.settings import Settings
from tests.opennebula.states import RoleState, ServiceState, can_update, is_transient
from tests.opennebula.steps import Parts
from tests.opennebula.vms import VirtualMachine, VmPool
from tests.opennebula.waits import Waits
from tests.opennebula.watchdog import Watchdog


class OneFlow:
    """All service templates and services.

    :ivar server_log: oneflow.log.
    :ivar available: whether OneGate reaches OneFlow.
    """

    def __init__(
        self,
        clock: Clock,
        vms: VmPool,
        vm_templates: dict[int, dict[str, Any]],
        events: EventLog,
        settings: Settings,
        conditions: Conditions,
    ) -> None:
        self._clock = clock
        self._vm_templates = vm_templates
        self._next_document = 0
        self.templates: dict[int, Document] = {}
        self.services: dict[int, Service] = {}
        self.available = True
        self.server_log = ServerLog(clock)
        self._records = Records(clock, events)
        self._waits = Waits(clock, vms.vms, settings.wait_timeout_seconds, self.server_log)
        self._watchdog = Watchdog(self.services, vms, self._records, self.server_log)
        self._nodes = RoleNodes(vms, vm_templates, self._records, conditions)
        parts = Parts(
            clock,
            self.services,
            vms,
            self._nodes,
            self._waits,
            self._watchdog,
            self._records,
            self.server_log,
            settings,
            conditions,
        )
        self._deployment = Deployment(parts)
        self._scaling = Scaling(parts, self._deployment)
        self._removal = Removal(parts)
        self._role_changes = RoleChanges(parts, self._deployment, self._removal)
        self._recovery = Recovery(parts, self._deployment, self._scaling, self._removal)
        self._autoscaler = Autoscaler(parts, self._scaling)
        self._actions = role_actions.RoleActions(clock, vms)
        vms.on_state(self._vm_changed_state)
        vms.on_update(self._waits.hear_update)

    def _vm_changed_state(self, vm: VirtualMachine) -> None:
        self._waits.hear_state(vm)
        self._watchdog.hear_state(vm)

    # --- the server itself ---

    def start(self) -> None:
        """Start OneFlow, also again: services in a transient state are recovered, the others watched."""
        self.server_log.info("WD", "Start watch dog")
        self.server_log.error("LCM", "Catching up...")
        self._watchdog.restart()
        for service in list(self.services.values()):
            if is_transient(service.state):
                self.recover(service.id)
        self._autoscaler.start()

    def stop(self) -> None:
        """React to nothing any more: no VM is made, no policy evaluated."""
        self._nodes.stopped = True
        self._autoscaler.stop()
        for service in self.services.values():
            self._watchdog.let_go(service)
            self._waits.cancel(service.id)

    @contextmanager
    def _refusals_in_the_log(self) -> Iterator[None]:
        try:
            yield
        except OneFlowError as error:
            self.server_log.error("LCM", str(error))
            raise

    # --- documents ---

    def _take_number(self) -> int:
        number = self._next_document
        self._next_document += 1
        return number

    def template(self, template_id: int) -> Document:
        """:raises NoSuchDocument: for an unknown id."""
        if template_id not in self.templates:
            raise NoSuchDocument(template_id)
        return self.templates[template_id]

    def service(self, service_id: int) -> Service:
        """:raises NoSuchDocument: for an unknown id."""
        if service_id not in self.services:
            raise NoSuchDocument(service_id)
        return self.services[service_id]

    # --- templates ---

    def create_template(self, template: Mapping[str, Any]) -> int:
        """The new template's id.

        :raises service_templates.ValidationError: when the template is refused.
        """
        wanted = old_templates.converted(template) if old_templates.is_old(template) else template
        body = service_templates.validate(wanted)
        body["registration_time"] = int(self._clock.now())
        return self._add_template(body, body["name"])

    def _add_template(self, body: dict[str, Any], name: str) -> int:
        document = Document(self._take_number(), body, name)
        self.templates[document.id] = document
        return document.id

    def update_template(self, template_id: int, wanted: Mapping[str, Any], append: bool = False) -> None:
        """Replace a template's body, or with ``append`` the attributes that are given.

        :raises OneFlowError: for an unknown template or a changed ``registration_time``.
        :raises service_templates.ValidationError: when the result is refused.
        """
        document = self.template(template_id)
        refusal = service_updates.template_refusal(document.body, wanted, append)
        if refusal:
            raise OneFlowError(refusal)
        base = document.body if append else {"registration_time": document.body["registration_time"]}
        document.body = service_templates.validate({**base, **wanted})

    def delete_template(self, template_id: int, with_vm_templates: bool = False) -> None:
        """:raises NoSuchDocument: for an unknown id."""
        document = self.template(template_id)
        if with_vm_templates:
            for role in document.body["roles"]:
                self._vm_templates.pop(role["template_id"], None)
        del self.templates[template_id]

    def clone_template(self, template_id: int, name: str, with_vm_templates: bool) -> int:
        """The copy's id; with ``with_vm_templates`` its roles have copies of the VM templates, too.

        :raises NoSuchDocument: for an unknown id.
        """
        body = copy.deepcopy(self.template(template_id).body)
        body["registration_time"] = int(self._clock.now())
        if with_vm_templates:
            copies: dict[int, int] = {}
            for role in body["roles"]:
                original = role["template_id"]
                if original not in copies:
                    copies[original] = max(self._vm_templates) + 1
                    self._vm_templates[copies[original]] = copy.deepcopy(self._vm_templates[original])
                role["template_id"] = copies[original]
        return self._add_template(body, name)

    # --- services ---

    def instantiate(self, template_id: int, extra: Mapping[str, Any]) -> Service:
        """A new service, still PENDING.

        :raises OneFlowError: for an unknown template, an input or a network without a value.
        :raises service_templates.ValidationError: when the merged template is refused.
        """
        template = self.template(template_id).body
        values = service_templates.networks_values(template, extra)
        merged = service_templates.merge_for_instance(template, {**extra, **values})
        service_templates.check_inputs(merged)
        body = service_templates.validate(merged)
        body["state"] = int(ServiceState.PENDING)
        for role in body["roles"]:
            role.setdefault("state", int(RoleState.PENDING))
        body["start_time"] = int(self._clock.now())
        service = Service(self._take_number(), body)
        self.services[service.id] = service
        self._records.event(service, "SERVICE_CREATED", f"{service.name} created")
        unmade = service_templates.network_to_make(body)
        if unmade:
            self._records.set_state(service, ServiceState.FAILED_DEPLOYING)
            raise BadRequest(f"The simulated cloud makes no network of its own: {unmade} needs an id")
        self._clock.call_later(0, lambda: self._deployment.deploy_networks(service))
        return service

    def update_service(self, service_id: int, wanted: Mapping[str, Any], append: bool = False) -> None:
        """Replace a service's body, or with ``append`` the attributes that are given.

        :raises OneFlowError: in a transient or failed state, or when something immutable would change.
        """
        with self._refusals_in_the_log():
            service = self.service(service_id)
            if not can_update(service.state):
                raise OneFlowError(f"Service cannot be updated in state: {service.state.name}")
            refusal = service_updates.service_refusal(service.body, wanted, append)
            if refusal:
                raise OneFlowError(refusal)
            service.body = {**service.body, **wanted} if append else dict(wanted)
            service.fill_role_defaults()

    def scale(self, service_id: int, role_name: str, cardinality: int, force: bool | None = False) -> None:
        """Start to bring a role to a cardinality; what OneGate and the REST interface ask for.

        :param force: ignore the role's bounds; None is a request without it.
        :raises OneFlowError: with OneFlow's reason.
        :raises oneflow_errors.ServerFault: when ``force`` is None and nothing else forbids the scaling.
        """
        with self._refusals_in_the_log():
            self._scaling.scale(self.service(service_id), role_name, cardinality, force)

    def recover(self, service_id: int, delete: bool = False) -> None:
        """Start the step again in which a service is stuck, or remove it.

        :raises OneFlowError: in a state that needs no recovery.
        """
        with self._refusals_in_the_log():
            self._recovery.recover(self.service(service_id), delete)

    def delete(self, service_id: int) -> None:
        """Start to undeploy a service; it disappears when all its VMs are gone.

        :raises OneFlowError: in a state that does not allow it.
        """
        service = self.service(service_id)
        with self._refusals_in_the_log():
            self._removal.undeploy(service)

    def release(self, service_id: int) -> None:
        """Let a service on HOLD start.

        :raises OneFlowError: when no role is on HOLD.
        """
        with self._refusals_in_the_log():
            self._deployment.release(self.service(service_id))

    def add_role(self, service_id: int, role: Mapping[str, Any]) -> None:
        """:raises OneFlowError: outside RUNNING, or when the name is taken."""
        with self._refusals_in_the_log():
            self._role_changes.add_role(self.service(service_id), copy.deepcopy(dict(role)))

    def remove_role(self, service_id: int, role_name: str) -> None:
        """:raises OneFlowError: outside RUNNING, or for an unknown role."""
        with self._refusals_in_the_log():
            self._role_changes.remove_role(self.service(service_id), role_name)

    def act_on_role(self, service_id: int, role_name: str, action: str, period_seconds: int, number: int) -> None:
        """Schedule an action on a role's VMs.

        :raises OneFlowError: for an unknown or removed role.
        """
        with self._refusals_in_the_log():
            role = self.service(service_id).role(role_name)
            if role is None:
                raise OneFlowError(f"Role '{role_name}' not found")
            self._actions.schedule(role, action, period_seconds, number)
