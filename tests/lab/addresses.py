# SPDX-License-Identifier: GPL-3.0-or-later
"""Context variables of the network cards, for hosts that no OpenNebula gives addresses to."""

from __future__ import annotations

import ipaddress

from tests.lab.namespace import BRIDGES, MANAGEMENT


def mac_of(address: str) -> str:
    """As OpenNebula derives it from a lease: 02:00 and the four bytes of the address."""
    return "02:00:" + ":".join(f"{byte:02x}" for byte in ipaddress.ip_address(address).packed)


def network_context(number: int) -> dict[str, str]:
    """ETH0_* (management, with the gateway) and ETH1_* (compute, no gateway) of the host with this last octet."""
    values = {"NETWORK": "YES"}
    for index, bridge in enumerate(BRIDGES):
        address = str(bridge.network.network_address + number)
        values[f"ETH{index}_IP"] = address
        values[f"ETH{index}_MAC"] = mac_of(address)
        values[f"ETH{index}_MASK"] = str(bridge.network.netmask)
        values[f"ETH{index}_NETWORK"] = str(bridge.network.network_address)
        if bridge is MANAGEMENT:
            values[f"ETH{index}_GATEWAY"] = bridge.gateway
    return values
