# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The VM's context as OpenNebula's package leaves it in one_env, parsed and never sourced.

The package writes lines of the form export NAME="value" without escaping anything: a value may hold newlines,
quotes and shell code, so the file is neither safe to source nor readable line by line.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError

ONE_ENV = "/run/one-context/one_env"
DEFAULT_MASK = "255.255.255.0"

_EXPORT = re.compile(r'^export ([A-Za-z_][A-Za-z0-9_]*)="', re.MULTILINE)
_NIC = re.compile(r"ETH(\d+)_MAC|ETH(\d+)_IP")


class ContextError(OnehpcError):
    """The context is missing, incomplete or unusable."""


@dataclass(frozen=True)
class Nic:
    """A network interface of the context. name: ETH0, ETH1, ...; network: CIDR. None where the context is silent."""

    name: str
    ip: str | None
    network: str | None
    mac: str | None
    gateway: str | None


@dataclass(frozen=True)
class Context:
    """values: every variable as text, an empty one included. nics: in the order of their numbers."""

    values: dict[str, str]
    vm_id: int | None
    token: str | None
    onegate_endpoint: str | None
    nics: tuple[Nic, ...]

    @property
    def management_nic(self):
        """The first NIC, or None."""
        return self.nics[0] if self.nics else None

    @property
    def compute_nic(self):
        """The last NIC, or None."""
        return self.nics[-1] if self.nics else None

    @property
    def gateway(self):
        """Address of the first gateway a NIC names, or None."""
        return next((nic.gateway for nic in self.nics if nic.gateway), None)


def parse_one_env(text):
    """The variables (dict of str to str) of a one_env text.

    A value runs until the next line that begins an export, and ends at the last quote before it, so quotes and
    newlines inside are kept. A later export of a name wins, as it would for a shell. ContextError when a value has
    no closing quote: the file is still being written.
    """
    values = {}
    starts = list(_EXPORT.finditer(text))
    for start, following in zip(starts, starts[1:] + [None]):
        chunk = text[start.end() : following.start() if following else len(text)]
        if '"' not in chunk:
            raise ContextError(f"The value of {start.group(1)} has no closing quote: the context is incomplete.")
        values[start.group(1)] = chunk[: chunk.rindex('"')]
    return values


def read_context(path=ONE_ENV):
    """The context of this VM (Context); ContextError when it cannot be read or makes no sense."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as one_env:
            text = one_env.read()
    except OSError as error:
        raise ContextError(
            f"The context {path} cannot be read: {error.strerror}. It is written by "
            "OpenNebula's context package at boot, readable by root only."
        ) from None
    try:
        return context_of(parse_one_env(text))
    except ContextError as error:
        raise ContextError(f"{path}: {error}") from None


def context_of(values):
    """The Context in a dict of context variables."""
    vm_id = values.get("VMID", "").strip()
    if vm_id and not (vm_id.isascii() and vm_id.isdigit()):
        raise ContextError(f"VMID is {vm_id!r}, not a number.")
    return Context(
        values=values,
        vm_id=int(vm_id) if vm_id else None,
        token=values.get("TOKENTXT", "").strip() or None,
        onegate_endpoint=values.get("ONEGATE_ENDPOINT", "").strip() or None,
        nics=tuple(_nic(values, number) for number in _nic_numbers(values)),
    )


def _nic_numbers(values):
    matches = [_NIC.fullmatch(name) for name in values if values[name]]
    return sorted({int(match.group(1) or match.group(2)) for match in matches if match})


def _nic(values, number):
    def value(what):
        return values.get(f"ETH{number}_{what}", "").strip() or None

    return Nic(
        name=f"ETH{number}",
        ip=value("IP"),
        network=_network(number, value("IP"), value("MASK") or DEFAULT_MASK) if value("IP") else None,
        mac=value("MAC"),
        gateway=value("GATEWAY"),
    )


def _network(number, address, mask):
    try:
        return str(ipaddress.IPv4Interface(f"{address}/{mask}").network)
    except ValueError:
        name = f"ETH{number}"
        raise ContextError(f"{name}_IP {address!r} and {name}_MASK {mask!r} are not an address.") from None
