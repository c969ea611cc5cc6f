# SPDX-License-Identifier: GPL-3.0-or-later
"""Recovering a service: what OneFlow does by the state it is stuck in. An ordinary owner can retry no failed VM."""

from __future__ import annotations

from typing import Any

from tests.opennebula.deployment import Deployment
from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.removal import Removal
from tests.opennebula.scaling import Scaling
from tests.opennebula.services import Service
from tests.opennebula.states import (
    RECOVER_DEPLOY,
    RECOVER_NETWORKS,
    RECOVER_SCALE,
    RECOVER_UNDEPLOY,
    RoleState,
    ServiceState,
)
from tests.opennebula.steps import Parts, Steps


class Recovery(Steps):
    """Starts the step again in which a service is; its state changes only when that step ends."""

    def __init__(self, parts: Parts, deployment: Deployment, scaling: Scaling, removal: Removal) -> None:
        super().__init__(parts)
        self._deployment = deployment
        self._scaling = scaling
        self._removal = removal

    def recover(self, service: Service, delete: bool = False) -> None:
        """Forget what the service waits for, then start again, or remove it whatever its state is.

        :raises OneFlowError: in a state that needs no recovery (RUNNING, WARNING).
        """
        self._waits.cancel(service.id)
        if service.timer is not None:
            service.timer.cancel()
        if delete:
            self._removal.undeploy(service, force=True)
            return
        name = service.state.name
        if name in RECOVER_DEPLOY:
            self._deploy(service)
        elif name in RECOVER_UNDEPLOY or service.state == ServiceState.FAILED_UNDEPLOYING_NETS:
            self._undeploy(service)
        elif name in RECOVER_SCALE:
            self._scale(service)
        elif name in RECOVER_NETWORKS:
            self._deployment.wait_for_networks(service)
        elif service.state == ServiceState.UNDEPLOYING_NETS:
            self._removal.wait_for_removed_networks(service)
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
                ends = self._deployment.deployed, self._deployment.deployment_failed
                self.wait_for_start(service, role, revived, *ends)

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
                ends = self._removal.undeployed, self._removal.undeployment_failed
                self.wait_for_end(service, role, leaving, *ends)

    @staticmethod
    def _has_living_children(service: Service, role: dict[str, Any]) -> bool:
        return any(
            role["name"] in (other.get("parents") or []) and other["state"] != RoleState.DONE
            for other in service.roles
            if other is not role
        )

    def _scale(self, service: Service) -> None:
        scaling = self._scaling
        for role in list(service.roles):
            if RoleState(role["state"]).name not in RECOVER_SCALE:
                continue
            if role.get("scale_way") == 1:
                leaving = self._nodes.terminate(service, role, recovering=True)
                self.wait_for_end(service, role, leaving, scaling.scaled_down, scaling.scaling_failed)
            else:
                revived = self._nodes.revive(service, role)
                self.wait_for_start(service, role, revived, scaling.scaled_up, scaling.scaling_failed)
