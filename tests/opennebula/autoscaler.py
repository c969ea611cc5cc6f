# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's autoscaler: reads all services and VMs, then decides and acts, role after role, and sleeps."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tests.opennebula import elasticity
from tests.opennebula.clock import Timer
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.scaling import Scaling
from tests.opennebula.services import Service, role_node_ids
from tests.opennebula.states import ServiceState
from tests.opennebula.steps import Parts, Steps
from tests.opennebula.vms import VirtualMachine

log = logging.getLogger(__name__)


class NoMonitoring(Exception):
    """No VM of the cloud has a monitoring record, which OneFlow does not expect."""


class Autoscaler(Steps):
    """One thread for all services. What fails in it ends it silently; only a restart brings it back."""

    def __init__(self, parts: Parts, scaling: Scaling) -> None:
        super().__init__(parts)
        self._vms = parts.vms
        self._scaling = scaling
        self._timer: Timer | None = None

    def start(self) -> None:
        """Also after a restart: whatever the thread was about to do is forgotten."""
        self.stop()
        self._timer = self._clock.call_later(0, self._read)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _read(self) -> None:
        """Everything is read at once; the delay until it is used is the cloud's."""
        services = {
            service.id: [_as_read(role) for role in service.roles]
            for service in self._services.values()
            if service.state == ServiceState.RUNNING
        }
        readings = {
            vm_id: reading_of(self._vms.get(vm_id))
            for roles in services.values()
            for role in roles
            for vm_id in role_node_ids(role)
        }
        delay_seconds = self._conditions.acting_delay_seconds
        if delay_seconds:
            self._timer = self._clock.call_later(delay_seconds, lambda: self._act(services, readings))
        else:
            self._act(services, readings)

    def _act(self, services: Mapping[int, list[dict[str, Any]]], readings: Mapping[int, elasticity.Reading]) -> None:
        try:
            for service_id, roles in services.items():
                self._server_log.info("AE", f"Checking policies for service: {service_id}")
                for role in roles:
                    self._act_on_role(service_id, role, [readings[vm_id] for vm_id in role_node_ids(role)])
        except Exception as error:
            # the real thread ends silently, too: services look healthy and no policy is ever evaluated again
            log.exception("the autoscaler has stopped")
            self._records.autoscaler_stopped(repr(error))
            return
        self._timer = self._clock.call_later(self._settings.autoscaler_interval_seconds, self._read)

    def _act_on_role(self, service_id: int, read_role: dict[str, Any], readings: list[elasticity.Reading]) -> None:
        """:param read_role: the role as it was read; meanwhile it may have changed, or gone with its service."""

        def mean(name: str) -> float | None:
            if readings and not self._conditions.has_monitoring:
                raise NoMonitoring("undefined method `[]' for nil:NilClass")
            return elasticity.mean_of(readings, name)

        decision = elasticity.decide(read_role, mean, int(self._clock.now()))
        service = self._services.get(service_id)
        role = service.role(read_role["name"]) if service else None
        if service is None or role is None:
            self._server_log.error("LCM", f"[one.document.info] Error getting document [{service_id}].")
            return
        if decision.policies:
            role["elasticity_policies"] = decision.policies
        if decision.change:
            role["cooldown"] = decision.cooldown_seconds
        self._record(service, role, decision)
        if decision.change == 0:
            return
        self._server_log.info("AE", f"Applying scalinig policies to service: {service_id}")
        try:
            self._scaling.scale(service, role["name"], read_role["cardinality"] + decision.change)
        except OneFlowError as error:
            self._server_log.error("LCM", str(error))

    def _record(self, service: Service, role: dict[str, Any], decision: elasticity.ScaleDecision) -> None:
        for index, reading in decision.readings:
            policy = reading.policy
            self._records.event(
                service,
                "POLICY_EVALUATED",
                f"#{index} {policy['expression_evaluated']}: {str(reading.holds).lower()}, "
                f"true_evals {policy['true_evals']} of {policy.get('period_number') or 0}",
                role,
            )
        if decision.change == 0:
            return
        if decision.fired is None:
            self._records.event(service, "MINIMUM_FIRED", f"below min_vms: {decision.change:+d}", role)
        else:
            fired = decision.policies[decision.fired]
            text = f"#{decision.fired} {fired['expression_evaluated']}: {decision.change:+d}"
            self._records.event(service, "POLICY_FIRED", text, role)


def _as_read(role: dict[str, Any]) -> dict[str, Any]:
    """The role as it is now: nodes and policies are all that others change in place."""
    policies = role.get("elasticity_policies")
    read = {**role, "nodes": list(role.get("nodes") or [])}
    if policies is not None:
        read["elasticity_policies"] = [dict(policy) for policy in policies]
    return read


def reading_of(vm: VirtualMachine) -> elasticity.Reading:
    """The VM's sections in the order in which an attribute is searched; its monitoring has nothing a policy needs."""
    shown = vm.document()
    return elasticity.Reading(vm.state, vm.lcm_state, (shown["USER_TEMPLATE"], {}, shown["TEMPLATE"], shown))
