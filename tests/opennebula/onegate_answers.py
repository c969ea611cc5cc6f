# SPDX-License-Identifier: GPL-3.0-or-later
"""What OneGate shows of a VM and of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.opennebula.vms import VirtualMachine

NIC_ATTRIBUTES = [
    "IP",
    "IP6_LINK",
    "IP6_SITE",
    "IP6_GLOBAL",
    "NETWORK",
    "MAC",
    "NAME",
    "PARENT",
    "EXTERNAL",
    "EXTERNAL_IP",
]

#: What the scheduler writes into USER_TEMPLATE is not shown.
HIDDEN_ATTRIBUTES = ["SCHED_MESSAGE"]


def is_extended(query: Mapping[str, str]) -> bool:
    """The parameter's presence counts, whatever its value: ``extended=`` and ``extended=false`` are on, too."""
    return "extended" in query


def vm_shown(vm: VirtualMachine) -> dict[str, Any]:
    """The VM element: its interfaces always a list, with few attributes, and no context."""
    document = vm.document()
    nics = document["TEMPLATE"].get("NIC") or []
    return {
        "VM": {
            "NAME": document["NAME"],
            "ID": document["ID"],
            "STATE": document["STATE"],
            "LCM_STATE": document["LCM_STATE"],
            "USER_TEMPLATE": {
                name: value for name, value in document["USER_TEMPLATE"].items() if name not in HIDDEN_ATTRIBUTES
            },
            "TEMPLATE": {
                "NIC": [{name: nic[name] for name in nic if name in NIC_ATTRIBUTES} for nic in nics],
                "NIC_ALIAS": [],
            },
        }
    }


def kept_info(node: Mapping[str, Any]) -> Any:
    """Of a node's VM only what OneFlow kept when it made it."""
    return node["vm_info"]


def service_shown(
    document: Mapping[str, Any], vm_info: Callable[[Mapping[str, Any]], Any] = kept_info
) -> dict[str, Any]:
    """The SERVICE element: no limits, policies, networks, inputs or log.

    :param vm_info: what is shown of a node's VM.
    """
    body = document["DOCUMENT"]["TEMPLATE"]["BODY"]
    return {
        "SERVICE": {
            "name": document["DOCUMENT"]["NAME"],
            "id": document["DOCUMENT"]["ID"],
            "state": body["state"],
            "roles": [
                {
                    "name": role["name"],
                    "cardinality": role["cardinality"],
                    "state": role["state"],
                    "nodes": [
                        {"deploy_id": node["deploy_id"], "running": None, "vm_info": vm_info(node)}
                        for node in role.get("nodes") or []
                    ],
                }
                for role in body["roles"]
            ],
        }
    }
