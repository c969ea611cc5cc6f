# SPDX-License-Identifier: GPL-3.0-or-later
"""The CONTEXT section of a VM: variables from its template, its addresses and its access to OneGate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.opennebula.networks import Network

_REFERENCE = re.compile(r"\$(?:(USER)\[([A-Za-z0-9_]+)\]|([A-Za-z0-9_]+))")

#: Variables the core writes for every interface, most of them empty in a plain IPv4 network.
_EMPTY_INTERFACE_VARIABLES = [
    "DNS",
    "EXTERNAL",
    "IP6",
    "IP6_GATEWAY",
    "IP6_METHOD",
    "IP6_METRIC",
    "IP6_PREFIX_LENGTH",
    "IP6_ULA",
    "METHOD",
    "METRIC",
    "MTU",
    "ROUTES",
    "SEARCH_DOMAIN",
    "VLAN_ID",
    "VROUTER_IP",
    "VROUTER_IP6",
    "VROUTER_MANAGEMENT",
]


def is_yes(value: object) -> bool:
    """OpenNebula's booleans in templates."""
    return str(value).strip().upper() in ("YES", "TRUE", "1")


def resolve_references(value: str, attributes: Mapping[str, Any], user: Mapping[str, str]) -> str:
    """``$NAME`` becomes the VM's attribute of that name, ``$USER[NAME]`` the owner's; unknown ones become empty."""

    def replace(match: re.Match[str]) -> str:
        if match.group(1):
            return user.get(match.group(2).upper(), "")
        found = attributes.get(match.group(3).upper(), "")
        return found if isinstance(found, str) else ""

    return _REFERENCE.sub(replace, value)


def interface_variables(index: int, nic: Mapping[str, str], network: Network) -> dict[str, str]:
    """``ETH<index>_*`` of one interface."""
    values = dict.fromkeys(_EMPTY_INTERFACE_VARIABLES, "")
    values.update(
        IP=nic["IP"],
        MAC=nic["MAC"],
        MASK=network.address_mask,
        NETWORK=network.network_address,
        GATEWAY=network.gateway,
    )
    return {f"ETH{index}_{name}": value for name, value in values.items()}


def build_context(
    template_context: Mapping[str, Any],
    attributes: Mapping[str, Any],
    user: Mapping[str, str],
    vm_id: int,
    interfaces: Sequence[tuple[Mapping[str, str], Network]],
    onegate_endpoint: str,
) -> dict[str, str]:
    """The finished section, sorted by name.

    :param template_context: CONTEXT of the VM template.
    :param attributes: the VM's attributes (NAME, VMID and everything of its template) for ``$NAME``.
    """
    context = {
        name.upper(): resolve_references(str(value), attributes, user) for name, value in template_context.items()
    }
    if is_yes(context.get("NETWORK", "")):
        for index, (nic, network) in enumerate(interfaces):
            context.update(interface_variables(index, nic, network))
    if is_yes(context.get("TOKEN", "")):
        context.update(VMID=str(vm_id), ONEGATE_ENDPOINT=onegate_endpoint)
    # the context is the disk behind the VM's own
    disks = attributes.get("DISK") or []
    context.update(DISK_ID=str(len(disks) if isinstance(disks, list) else 1), TARGET="hda")
    return dict(sorted(context.items()))
