# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual networks: address leases and the MAC addresses made from them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field


class NetworkError(Exception):
    """A network is unknown or has no free address."""


@dataclass
class Network:
    """One virtual network with one range of addresses.

    :param subnet: ``10.66.0.0/24``.
    :param gateway: address of the gateway, empty for a network without one.
    :param first_host: offset of the first lease in the subnet.
    :param size: number of leases.
    """

    id: int
    name: str
    subnet: str
    gateway: str
    bridge: str
    first_host: int = 10
    size: int = 200
    leases: dict[str, int] = field(default_factory=dict)
    next_offset: int = 0

    @property
    def address_mask(self) -> str:
        return str(ipaddress.ip_network(self.subnet).netmask)

    @property
    def network_address(self) -> str:
        return str(ipaddress.ip_network(self.subnet).network_address)

    def lease(self, vm_id: int) -> str:
        """The next free address of the range. Addresses go round: a freed one is not given again at once.

        :raises NetworkError: when no address is free.
        """
        base = ipaddress.ip_network(self.subnet).network_address + self.first_host
        for _ in range(self.size):
            address = str(base + self.next_offset)
            self.next_offset = (self.next_offset + 1) % self.size
            if address not in self.leases:
                self.leases[address] = vm_id
                return address
        raise NetworkError(f"network {self.name} has no free address among its {self.size}; terminate a VM first")

    def release(self, vm_id: int) -> None:
        """Free every address of a VM."""
        self.leases = {address: owner for address, owner in self.leases.items() if owner != vm_id}


def mac_of(address: str) -> str:
    """OpenNebula's default: prefix 02:00 and the four bytes of the address."""
    return "02:00:" + ":".join(f"{byte:02x}" for byte in ipaddress.IPv4Address(address).packed)


def lab_networks() -> list[Network]:
    """The lab's two networks; the management gateway is the simulator's host, compute has none."""
    return [
        Network(0, "Management", "10.66.0.0/24", "10.66.0.1", "management"),
        Network(1, "Compute", "10.77.0.0/24", "", "compute"),
    ]
