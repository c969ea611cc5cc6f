# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A VM and its service as plain data that may be shown: without secrets."""

from __future__ import annotations

import re

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import role_state_name

# A list of local users holds their passwords.
_SECRET_NAME = re.compile(r"(.*_)?(KEY|PASS|PASSWD|PASSWORD|SECRET|TOKEN|LOCAL_USERS|LDAP_USERS)", re.IGNORECASE)


def is_secret(name):
    """True when an attribute of this name is taken for a secret."""
    return _SECRET_NAME.fullmatch(name) is not None


def without_secrets(user_template):
    """A copy of a user template (dict) without what is taken for a secret, in vectors too."""
    return {
        name: without_secrets(value) if isinstance(value, dict) else value
        for name, value in user_template.items()
        if not is_secret(name)
    }


def onegate_facts(client, vm_id=None):
    """What the module onegate_info returns (dict), by one or two reads.

    vm_id: another VM of the service, or None for this one. service is None when the VM belongs to none.
    """
    vm = client.get_vm() if vm_id is None else client.get_vm_by_id(vm_id)
    service = client.get_service() if vm.service_id is not None else None
    return {
        "changed": False,
        "vm": vm_facts(vm),
        "service": service and service_facts(service),
        "clock_skew_seconds": client.server_clock_skew_seconds,
        "endpoint": client.endpoint,
    }


def vm_facts(vm):
    """A Vm as plain data, without secrets."""
    return {
        "id": vm.id,
        "name": vm.name,
        "state": vm.state,
        "lcm_state": vm.lcm_state,
        "is_running": vm.is_running,
        "role_name": vm.role_name,
        "addresses": list(vm.addresses),
        "user_template": without_secrets(vm.user_template),
        "hidden_attributes": sorted(name for name in vm.user_template if is_secret(name)),
    }


def service_facts(service):
    """A Service as plain data."""
    return {
        "id": service.id,
        "name": service.name,
        "state": service.state,
        "state_name": service.state_name,
        "roles": [
            {
                "name": role.name,
                "cardinality": role.cardinality,
                "state": role.state,
                "state_name": role_state_name(role.state),
                "nodes": [{"vm_id": node.vm_id, "name": node.name} for node in role.nodes],
            }
            for role in service.roles
        ],
    }
