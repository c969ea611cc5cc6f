# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the core in full, beside the VM: VM template, image, network, user."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from tests.opennebula.images import Image
from tests.opennebula.networks import Network, mac_of
from tests.opennebula.settings import DRIVER
from tests.opennebula.vm_documents import complete, permissions
from tests.opennebula.vms import OWNER, VirtualMachine

#: States of images and of networks.
READY, NETWORK_ERROR = "1", "5"


def _owned(object_id: int, name: str) -> dict[str, Any]:
    return {"ID": str(object_id), **OWNER, "NAME": name, "PERMISSIONS": permissions()}


def vm(machine: VirtualMachine) -> dict[str, Any]:
    """VM; unlike OneGate's, blanks round values are there."""
    return {**complete(machine), "USER_TEMPLATE": dict(machine.user_template)}


def vm_template(template_id: int, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """VMTEMPLATE."""
    name = str(attributes.get("NAME", f"template-{template_id}"))
    template = {key: value for key, value in attributes.items() if key != "NAME"}
    return {**_owned(template_id, name), "REGTIME": "0", "TEMPLATE": template}


def image(found: Image) -> dict[str, Any]:
    """IMAGE, an operating system's."""
    return {
        **_owned(found.id, found.name),
        "TYPE": "0",
        "DISK_TYPE": "0",
        "PERSISTENT": "1" if found.persistent else "0",
        "REGTIME": str(found.registered_at),
        "SOURCE": f"/var/lib/one/datastores/1/{found.id}",
        "PATH": "",
        "FORMAT": "qcow2",
        "FS": "",
        "SIZE": str(found.size_mib),
        "STATE": READY,
        "PREV_STATE": READY,
        "RUNNING_VMS": "0",
        "CLONING_OPS": "0",
        "CLONING_ID": "-1",
        "TARGET_SNAPSHOT": "-1",
        "DATASTORE_ID": "1",
        "DATASTORE": "default",
        "VMS": {},
        "CLONES": {},
        "APP_CLONES": {},
        "TEMPLATE": {"DEV_PREFIX": "vd"},
        "SNAPSHOTS": {"ALLOW_ORPHANS": "mixed", "CURRENT_BASE": "-1", "NEXT_SNAPSHOT": "0"},
        "BACKUP_INCREMENTS": {},
    }


def network(found: Network, is_broken: bool = False) -> dict[str, Any]:
    """VNET with its one address range and its leases."""
    subnet = ipaddress.ip_network(found.subnet)
    first = str(subnet.network_address + found.first_host)
    leases = [{"IP": ip, "MAC": mac_of(ip), "VM": str(vm_id)} for ip, vm_id in found.leases.items()]
    template = {"NETWORK_ADDRESS": found.network_address, "NETWORK_MASK": found.address_mask, "SECURITY_GROUPS": "0"}
    if found.gateway:
        template["GATEWAY"] = found.gateway
    state = NETWORK_ERROR if is_broken else READY
    return {
        **_owned(found.id, found.name),
        "CLUSTERS": {"ID": "0"},
        "BRIDGE": found.bridge,
        "BRIDGE_TYPE": "linux",
        "STATE": state,
        "PREV_STATE": state,
        "PARENT_NETWORK_ID": "",
        "VN_MAD": DRIVER,
        "PHYDEV": "",
        "VLAN_ID": "",
        "OUTER_VLAN_ID": "",
        "VLAN_ID_AUTOMATIC": "0",
        "OUTER_VLAN_ID_AUTOMATIC": "0",
        "USED_LEASES": str(len(leases)),
        "VROUTERS": {},
        "UPDATED_VMS": {},
        "OUTDATED_VMS": {},
        "UPDATING_VMS": {},
        "ERROR_VMS": {},
        "TEMPLATE": template,
        "AR_POOL": {
            "AR": {
                "AR_ID": "0",
                "IP": first,
                "MAC": mac_of(first),
                "SIZE": str(found.size),
                "TYPE": "IP4",
                "MAC_END": mac_of(str(subnet.network_address + found.first_host + found.size - 1)),
                "IP_END": str(subnet.network_address + found.first_host + found.size - 1),
                "USED_LEASES": str(len(leases)),
                "LEASES": {"LEASE": leases} if leases else {},
            }
        },
    }


def user(attributes: Mapping[str, str]) -> dict[str, Any]:
    """USER: the owner of everything, without what tokens are made from."""
    return {
        "ID": OWNER["UID"],
        "GID": OWNER["GID"],
        "GROUPS": {"ID": OWNER["GID"]},
        "GNAME": OWNER["GNAME"],
        "NAME": OWNER["UNAME"],
        "PASSWORD": "-",
        "AUTH_DRIVER": "core",
        "ENABLED": "1",
        "TEMPLATE": dict(attributes),
        "DATASTORE_QUOTA": {},
        "NETWORK_QUOTA": {},
        "VM_QUOTA": {},
        "IMAGE_QUOTA": {},
        "DEFAULT_USER_QUOTAS": {"DATASTORE_QUOTA": {}, "NETWORK_QUOTA": {}, "VM_QUOTA": {}, "IMAGE_QUOTA": {}},
    }
