# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of a service that are recorded: in its own log and as events."""

from __future__ import annotations

from typing import Any

from tests.opennebula.clock import Clock
from tests.opennebula.events import EventLog
from tests.opennebula.services import Service, role_node_ids
from tests.opennebula.states import RoleState, ServiceState


class Records:
    """The only place that changes states, cardinalities and nodes."""

    def __init__(self, clock: Clock, events: EventLog) -> None:
        self._clock = clock
        self._events = events

    def set_state(self, service: Service, state: ServiceState) -> None:
        before = service.state
        service.body["state"] = int(state)
        service.log(self._clock.now(), f"New state: {state.name}")
        self.event(service, "SERVICE_STATE", f"{before.name} -> {state.name}")
        self._clock.changed.notify_all()

    def set_role_state(self, service: Service, role: dict[str, Any], state: RoleState) -> None:
        """Entering SCALING forgets how often the role's policies held."""
        before = RoleState(role["state"])
        role["state"] = int(state)
        if state == RoleState.SCALING:
            for policy in role.get("elasticity_policies") or []:
                policy.pop("true_evals", None)
        self.event(service, "ROLE_STATE", f"{before.name} -> {state.name}", role)
        self._clock.changed.notify_all()

    def set_cardinality(self, service: Service, role: dict[str, Any], cardinality: int) -> None:
        before = role["cardinality"]
        direction = "up" if cardinality > before else "down"
        service.log(self._clock.now(), f"Role {role['name']} scaling {direction} from {before} to {cardinality} nodes")
        role["cardinality"] = cardinality
        if cardinality != before:
            self.event(service, "CARDINALITY", f"{before} -> {cardinality}", role)

    def add_node(self, service: Service, role: dict[str, Any], node: dict[str, Any], name: str) -> None:
        role["nodes"].append(node)
        self.event(service, "NODE_ADDED", name, role, node["deploy_id"])

    def remove_nodes(self, service: Service, role: dict[str, Any], vm_ids: list[int]) -> None:
        for vm_id in vm_ids:
            if vm_id in role_node_ids(role):
                role["nodes"] = [node for node in role["nodes"] if node["deploy_id"] != vm_id]
                self.event(service, "NODE_REMOVED", f"VM {vm_id} has left the role", role, vm_id)
        self._clock.changed.notify_all()

    def error(self, service: Service, message: str) -> None:
        """Into the service's own log."""
        service.log(self._clock.now(), message, "E")

    def event(
        self, service: Service, kind: str, text: str, role: dict[str, Any] | None = None, vm: int | None = None
    ) -> None:
        role_name = role["name"] if role else None
        self._events.add(self._clock.now(), kind, text, vm=vm, service=service.id, role=role_name)

    def autoscaler_stopped(self, text: str) -> None:
        self._events.add(self._clock.now(), "AUTOSCALER_STOPPED", text)
