# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which VM is the portal, by OneGate."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm

PORTAL_ROLE = "portal"


@dataclass(frozen=True)
class PortalSearch:
    """listed_vm_ids: every VM of the role, highest id first; vm: the first of them that runs (3/3), or None."""

    listed_vm_ids: tuple[int, ...]
    vm: Vm | None


def find_portal(client, role_name=PORTAL_ROLE):
    """Look for the portal: a plain read of the service, then of its portal VMs until one runs (PortalSearch).

    The highest id wins, because a replaced portal has a higher one than the portal it replaces. OneGateError when
    any read fails or the service has no such role, so that "no portal" is never a guess.
    """
    service = client.get_service()
    role = service.role(role_name)
    if role is None:
        names = ", ".join(role.name for role in service.roles)
        raise OneGateError(
            "GET",
            "/service",
            client.endpoint,
            200,
            f"Service {service.id} has no role {role_name} (it has: {names}). Check the service template.",
        )
    listed = tuple(sorted(role.vm_ids, reverse=True))
    for vm_id in listed:
        vm = client.get_vm_by_id(vm_id)
        if vm.is_running:
            return PortalSearch(listed, vm)
    return PortalSearch(listed, None)
