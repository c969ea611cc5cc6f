# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The export of the cluster's state, granted to the portal alone: what it should be, decided from what OneGate shows.

Two portals with the state mounted would be two controllers on one state, so the export has at most one client, and
on any doubt about who that is nothing changes.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError

HEADER = "# Managed by onehpc.ondemand: the portal's address, found through OneGate.\n"


class StateExportError(OnehpcError):
    """The export cannot be decided or made."""


@dataclass(frozen=True)
class Decision:
    """address: the one client (str), or None for no client; certain: False leaves everything as it is."""

    address: str | None
    certain: bool
    portal_vm_id: int | None
    reason: str


@dataclass(frozen=True)
class Work:
    """unexport: addresses to remove first; write: the file differs; refresh: exportfs -ra is needed."""

    unexport: tuple[str, ...]
    write: bool
    refresh: bool

    @property
    def is_needed(self):
        """True when anything at all is to be done."""
        return bool(self.unexport) or self.write or self.refresh


def decide(search, compute_network):
    """Who may mount the state (Decision), from a PortalSearch and the compute network (CIDR).

    No portal is certain only when the service lists none: one that is listed and not in 3/3 may still run, for
    OpenNebula's view of a VM can be behind or unknown. StateExportError when the portal has not exactly one address
    in the network.
    """
    if not search.listed_vm_ids:
        return Decision(None, True, None, "the service lists no portal")
    if search.vm is None:
        listed = ", ".join(f"VM {vm_id}" for vm_id in search.listed_vm_ids)
        return Decision(None, False, None, f"the portal ({listed}) is listed, but not in state RUNNING")
    address = _address_in(search.vm, compute_network)
    return Decision(address, True, search.vm.id, f"the portal is VM {search.vm.id} at {address}")


def _address_in(vm, compute_network):
    try:
        network = ipaddress.ip_network(compute_network, strict=False)
    except ValueError:
        raise StateExportError(f"{compute_network!r} is not a network such as 10.0.0.0/24: compute_network.") from None
    inside = [address for address in vm.addresses if _is_inside(address, network)]
    if len(inside) != 1:
        has = ", ".join(vm.addresses) or "none"
        raise StateExportError(
            f"Portal VM {vm.id} has {len(inside)} addresses in {network} (all of its addresses: {has}), expected one; "
            "the export is left as it is. Check compute_network and the networks of the service."
        )
    return inside[0]


def _is_inside(address, network):
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


def render(directory, address, options):
    """The exports file (str): one line for one address, none for None."""
    return HEADER + (f"{directory} {address}({options})\n" if address else "")


def exported_addresses(etab, directory):
    """Clients (tuple of str) to which a directory is exported now, from the text of nfs-utils' etab."""
    clients = []
    for line in etab.splitlines():
        match = re.match(r"(\S+)\s+([^\s(]+)\(", line)
        if match and match.group(1) == directory:
            clients.append(match.group(2))
    return tuple(clients)


def plan(address, exported, file_text, wanted_text):
    """What is to be done (Work) so that `address` (None: nobody) alone has the export.

    exported: the clients now; file_text: the exports file now (None: absent). The kernel's own list counts beside the
    file, so that a run that was cut off between the two is made good by the next.
    """
    unexport = tuple(client for client in exported if client != address)
    write = file_text != wanted_text and not (address is None and file_text is None)
    missing = address is not None and address not in exported
    return Work(unexport, write, write or missing)
