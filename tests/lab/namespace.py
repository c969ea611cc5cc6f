# SPDX-License-Identifier: GPL-3.0-or-later
"""The network namespace of a lab: two bridges, one tap for every network card of a host."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.lab.command import run_checked
from tests.lab.errors import LabError

CLONE_NEWNET = 0x40000000
Result = TypeVar("Result")


@dataclass(frozen=True)
class Bridge:
    """A network of the lab. `address` is the bridge's own, with the prefix length."""

    name: str
    address: str

    @property
    def network(self) -> ipaddress.IPv4Network:
        return ipaddress.ip_interface(self.address).network

    @property
    def gateway(self) -> str:
        return str(ipaddress.ip_interface(self.address).ip)


MANAGEMENT = Bridge("management", "10.66.0.1/24")
COMPUTE = Bridge("compute", "10.77.0.1/24")
BRIDGES = (MANAGEMENT, COMPUTE)


def bridge_of(address: str) -> Bridge:
    """The network that holds this address; LabError when none does."""
    for bridge in BRIDGES:
        if ipaddress.ip_address(address) in bridge.network:
            return bridge
    known = ", ".join(f"{bridge.name} {bridge.network}" for bridge in BRIDGES)
    raise LabError(f"{address} is in no network of the lab ({known})")


class Namespace:
    """One network namespace, known to `ip netns` by its name."""

    def __init__(self, name: str):
        self.name = name
        self.path = Path("/run/netns") / name

    def exists(self) -> bool:
        return self.path.exists()

    def create(self) -> None:
        """Makes the namespace with both bridges up and their addresses set."""
        run_checked(["ip", "netns", "add", self.name])
        lines = ["link set lo up"]
        for bridge in BRIDGES:
            lines += [
                f"link add {bridge.name} type bridge",
                f"address add {bridge.address} dev {bridge.name}",
                f"link set {bridge.name} up",
            ]
        self._ip_batch(lines)
        # A host that boots is asked for its address until it answers: ask five times a second instead of once.
        self.call_inside(_ask_for_neighbours_often)

    def delete(self) -> None:
        if self.exists():
            run_checked(["ip", "netns", "delete", self.name])

    def command(self, *argv: str) -> list[str]:
        """The same command inside the namespace. The process keeps its id: nothing is forked."""
        return ["nsenter", f"--net={self.path}", *argv]

    def add_tap(self, tap: str, bridge: Bridge) -> None:
        # A guest reads single frames: of the batch of segments that a tap would hand over as one it loses all but the
        # first, and a connection that sends it more than a few kilobytes at once starves.
        self._ip_batch(
            [
                f"tuntap add mode tap name {tap}",
                f"link set {tap} gso_max_segs 1",
                f"link set {tap} master {bridge.name} up",
            ]
        )

    def remove_tap(self, tap: str) -> None:
        if tap in self.links():
            self._ip_batch([f"link delete {tap}"])

    def links(self) -> set[str]:
        """Names of the interfaces inside."""
        listed = run_checked(["ip", "-n", self.name, "-brief", "link"]).stdout
        return {line.split()[0].split("@")[0] for line in listed.splitlines()}

    def call_inside(self, function: Callable[[], Result]) -> Result:
        """Calls function inside the namespace and returns what it returns, or raises what it raises.

        A socket that it makes belongs to the namespace also when the caller uses it outside.
        """
        with ThreadPoolExecutor(1) as executor:
            # A thread of its own: setns moves the calling thread alone, and the thread ends here.
            return executor.submit(self._enter_and_call, function).result()

    def connect(self, address: str, port: int, timeout_seconds: float) -> socket.socket:
        """A TCP connection made inside the namespace; OSError when it is refused or not made in time."""
        return self.call_inside(lambda: socket.create_connection((address, port), timeout_seconds))

    def _enter_and_call(self, function: Callable[[], Result]) -> Result:
        _enter_network_namespace(self.path)
        return function()

    def _ip_batch(self, lines: list[str]) -> None:
        run_checked(["ip", "-n", self.name, "-batch", "-"], input="\n".join(lines) + "\n")


def _ask_for_neighbours_often() -> None:
    for bridge in BRIDGES:
        Path(f"/proc/sys/net/ipv4/neigh/{bridge.name}/retrans_time_ms").write_text("200")


def _enter_network_namespace(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"setns {path}: {os.strerror(code)}")
    finally:
        os.close(descriptor)
