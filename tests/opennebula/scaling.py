# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling a role up or down, and the cooldown after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.opennebula.deployment import Deployment
from tests.opennebula.oneflow_errors import OneFlowError, ServerFault
from tests.opennebula.services import Service
from tests.opennebula.states import RoleState, ServiceState, can_scale
from tests.opennebula.steps import Parts, Steps
from tests.opennebula.waits import Wait


class Scaling(Steps):
    """From RUNNING over SCALING and COOLDOWN to RUNNING."""

    def __init__(self, parts: Parts, deployment: Deployment) -> None:
        super().__init__(parts)
        self._deployment = deployment

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
                states = (RoleState.SCALING, RoleState.FAILED_SCALING)
                self._deployment.start_role(service, role_name, states, self.scaled_up, self.scaling_failed)
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


def bounds_refusal(role: Mapping[str, Any], cardinality: int) -> str | None:
    """Why a cardinality is out of the role's bounds, None when it is not."""
    minimum, maximum = role.get("min_vms"), role.get("max_vms")
    if cardinality < int(minimum or 0):
        return f"Minimum cardinality is {'' if minimum is None else minimum}"
    if maximum is not None and cardinality > int(maximum):
        return f"Maximum cardinality is {maximum}"
    return None
