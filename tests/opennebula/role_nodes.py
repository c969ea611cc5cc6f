# SPDX-License-Identifier: GPL-3.0-or-later
"""Making and ending the VMs of a role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.opennebula import deployment_order, instantiation
from tests.opennebula.conditions import Conditions
from tests.opennebula.oneflow_errors import OneFlowError, ServerFault
from tests.opennebula.records import Records
from tests.opennebula.services import Service, role_node_ids
from tests.opennebula.states import LcmState, VmState
from tests.opennebula.vms import NODE_INFO, VirtualMachine, VmError, VmPool


class RoleNodes:
    """``stopped``: no VM is made any more."""

    def __init__(
        self, vms: VmPool, vm_templates: Mapping[int, Mapping[str, Any]], records: Records, conditions: Conditions
    ) -> None:
        self._vms = vms
        self._vm_templates = vm_templates
        self._records = records
        self._conditions = conditions
        self.stopped = False

    def create(self, service: Service, role: dict[str, Any]) -> list[int]:
        """The VMs that are missing to the role's cardinality.

        :raises OneFlowError: when a VM cannot be made; those made before stay.
        :raises ServerFault: when the VM template does not exist.
        """
        created: list[int] = []
        missing = role["cardinality"] - len(role["nodes"])
        if missing == 0:
            return created
        template_id = role["template_id"]
        if template_id not in self._vm_templates:
            raise ServerFault(f"role {role['name']}: no VM template {template_id}")
        parents = {
            parent: [self._vms.get(vm_id).document() for vm_id in role_node_ids(service.role(parent) or {})]
            for parent in role.get("parents") or []
        }
        template = instantiation.role_vm_template(self._vm_templates[template_id], role, service.id, parents)
        role.setdefault("last_vmname", 0)
        for _ in range(missing):
            name = instantiation.vm_name(role["name"], role["last_vmname"], service.id)
            role["last_vmname"] += 1
            try:
                created.append(self._create_one(service, role, name, template))
            except VmError as error:
                where = f"template {template_id}; {error}"
                self._records.error(service, f"Role {role['name']} : Instantiate failed for {where}")
                raise OneFlowError(
                    f"Error deploying role {role['name']}: Error instantiating VM Template {template_id} "
                    f"in Role {role['name']}: {error}"
                ) from error
        return created

    def _create_one(self, service: Service, role: dict[str, Any], name: str, template: Mapping[str, Any]) -> int:
        if self.stopped:
            raise VmError("the cloud is being shut down")
        vm = self._vms.create(name, template, role["template_id"], on_hold=bool(role.get("on_hold")))
        shown = vm.document()
        info = {"VM": {attribute: shown[attribute] for attribute in NODE_INFO}}
        node = {"deploy_id": vm.id, "vm_info": info if self._conditions.vm_info_readable else None}
        self._records.add_node(service, role, node, name)
        return vm.id

    def terminate(self, service: Service, role: dict[str, Any], recovering: bool = False) -> list[int]:
        """End the first nodes of the list, those above the cardinality; which ones, see ``nodes_to_terminate``.

        :param recovering: a VM in a failure state is first retried, which its ordinary owner may not.
        """
        leaving = deployment_order.nodes_to_terminate(role_node_ids(role), role["cardinality"])
        action = role.get("shutdown_action") or service.body.get("shutdown_action") or "terminate"
        for vm_id in leaving:
            vm = self._vms.get(vm_id)
            try:
                if recovering and vm.has_failed:
                    self._vms.retry(vm)
                else:
                    self._vms.terminate(vm, hard=action == "terminate-hard")
            except VmError as error:
                self._records.error(
                    service,
                    f"Role {role['name']} : Terminate failed for VM {vm_id}, will perform a Delete; {error}",
                )
                self._destroy(vm)
        return leaving

    def _destroy(self, vm: VirtualMachine) -> None:
        try:
            self._vms.terminate(vm, hard=True)
        except VmError:
            # it is ending or done
            return

    def revive(self, service: Service, role: dict[str, Any]) -> list[int]:
        """What a recovery does to the VMs of a role that should start: retry failed ones, resume others, make missing.

        The ordinary owner may not retry: such a VM is left out of the nodes that are waited for, which are returned.

        :raises OneFlowError: when a missing VM cannot be made.
        """
        revived: list[int] = []
        for vm_id in role_node_ids(role):
            vm = self._vms.get(vm_id)
            if vm.is_in(VmState.ACTIVE, LcmState.RUNNING) and not service.waits_for_ready:
                continue
            if vm.has_failed:
                try:
                    self._vms.retry(vm)
                except VmError as error:
                    self._records.error(service, f"Role {role['name']} : Retry failed for VM {vm_id}; {error}")
                    continue
            else:
                try:
                    self._vms.resume(vm)
                except VmError:
                    # it is not powered off; OneFlow does not look at the refusal
                    pass
            revived.append(vm_id)
        return revived + self.create(service, role)

    def release(self, role: dict[str, Any]) -> list[int]:
        """Let VMs on hold start."""
        for vm_id in role_node_ids(role):
            self._vms.release(self._vms.get(vm_id))
        return role_node_ids(role)
