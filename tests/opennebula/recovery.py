# SPDX-License-Identifier: GPL-3.0-or-later
"""Recovering a service: what OneFlow does by the state it is stuck in. An ordinary owner can retry no failed VM."""

from __future__ import annotations

from typing import Any

from tests.opennebula.lifecycle import LifeCycle
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.records import Records
from tests.opennebula.role_nodes import RoleNodes
from tests.opennebula.services import Service
from tests.opennebula.states import (
    RECOVER_DEPLOY,
    RECOVER_NETWORKS,
    RECOVER_SCALE,
    RECOVER_UNDEPLOY,
    RoleState,
    ServiceState,
)
from tests.opennebula.waits import Waits


class Recovery:
    """Starts the step again in which a service is; its state changes only when that step ends."""

    def __init__(self, lifecycle: LifeCycle, nodes: RoleNodes, waits: Waits, records: Records) -> None:
        self._lifecycle = lifecycle
        self._nodes = nodes
        self._waits = waits
        self._records = records

    def recover(self, service: Service, delete: bool = False) -> None:
        """Forget what the service waits for, then start again, or remove it whatever its state is.

        :raises OneFlowError: in a state that needs no recovery (RUNNING, WARNING).
        """
        self._waits.cancel(service.id)
        if service.timer is not None:
            service.timer.cancel()
        if delete:
            self._lifecycle.undeploy(service, force=True)
            return
        name = service.state.name
        if name in RECOVER_DEPLOY:
            self._deploy(service)
        elif name in RECOVER_UNDEPLOY or service.state == ServiceState.FAILED_UNDEPLOYING_NETS:
            self._undeploy(service)
        elif name in RECOVER_SCALE:
            self._scale(service)
        elif name in RECOVER_NETWORKS:
            self._lifecycle.wait_for_networks(service)
        elif service.state == ServiceState.UNDEPLOYING_NETS:
            self._lifecycle.wait_for_removed_networks(service)
        elif service.state == ServiceState.COOLDOWN:
            # the watchdog is not told: it takes the service back after the next scaling only
            self._records.set_state(service, ServiceState.RUNNING)
            for role in service.roles:
                self._records.set_role_state(service, role, RoleState.RUNNING)
        else:
            raise OneFlowError(f"Service cannot be recovered in state: {name}")

    def _deploy(self, service: Service) -> None:
        for role in list(service.roles):
            if self._can_deploy(service, role):
                revived = self._nodes.revive(service, role)
                lifecycle = self._lifecycle
                lifecycle.wait_for_start(service, role, revived, lifecycle.deployed, lifecycle.deployment_failed)

    @staticmethod
    def _can_deploy(service: Service, role: dict[str, Any]) -> bool:
        if role["state"] != RoleState.PENDING:
            return RoleState(role["state"]).name in RECOVER_DEPLOY
        parents = [service.role(parent) for parent in role.get("parents") or []]
        return all(parent is None or parent["state"] == RoleState.RUNNING for parent in parents)

    def _undeploy(self, service: Service) -> None:
        for role in list(service.roles):
            if RoleState(role["state"]).name in RECOVER_UNDEPLOY or not self._has_living_children(service, role):
                leaving = self._nodes.terminate(service, role, recovering=True)
                lifecycle = self._lifecycle
                lifecycle.wait_for_end(service, role, leaving, lifecycle.undeployed, lifecycle.undeployment_failed)

    @staticmethod
    def _has_living_children(service: Service, role: dict[str, Any]) -> bool:
        return any(
            role["name"] in (other.get("parents") or []) and other["state"] != RoleState.DONE
            for other in service.roles
            if other is not role
        )

    def _scale(self, service: Service) -> None:
        lifecycle = self._lifecycle
        for role in list(service.roles):
            if RoleState(role["state"]).name not in RECOVER_SCALE:
                continue
            if role.get("scale_way") == 1:
                leaving = self._nodes.terminate(service, role, recovering=True)
                lifecycle.wait_for_end(service, role, leaving, lifecycle.scaled_down, lifecycle.scaling_failed)
            else:
                revived = self._nodes.revive(service, role)
                lifecycle.wait_for_start(service, role, revived, lifecycle.scaled_up, lifecycle.scaling_failed)
