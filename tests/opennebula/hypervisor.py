# SPDX-License-Identifier: GPL-3.0-or-later
"""What the simulator needs of something that runs guests, and a stand-in that runs none.

Every call may block and is made outside the simulator's lock. A failure is any exception; its text is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Guest:
    """A guest as it is started.

    :param name: unique among the running ones.
    :param token: OneGate's, if it has one.
    :param keeps_disk: it was powered off before and goes on with what its disk holds.
    :param kernel_arguments: the words of the template's OS/KERNEL_CMD.
    """

    name: str
    vm_id: int
    memory_mib: int
    context: dict[str, str]
    token: str | None
    keeps_disk: bool = False
    kernel_arguments: tuple[str, ...] = ()


class Hypervisor(Protocol):
    """Runs guests."""

    def deploy(self, guest: Guest) -> None:
        """Start the guest; return once it has power, not once it has booted."""

    def shutdown(self, name: str, timeout_seconds: float) -> None:
        """Ask the guest to power off (ACPI). May return before it is off."""

    def destroy(self, name: str) -> None:
        """Take the guest's power; no error when it has none."""

    def is_running(self, name: str) -> bool:
        """Whether the guest has power."""


@dataclass
class NullHypervisor:
    """Guests that exist as names only, for unit tests.

    :param obeys: whether a guest follows a request to power off; else it runs until destroyed or ``power_off``.
    :param boot_failure: when set, the next start fails with this text.
    """

    obeys: bool = True
    boot_failure: str = ""
    running: dict[str, Guest] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def deploy(self, guest: Guest) -> None:
        self.calls.append(("deploy", guest.name))
        if self.boot_failure:
            failure, self.boot_failure = self.boot_failure, ""
            raise RuntimeError(failure)
        self.running[guest.name] = guest

    def shutdown(self, name: str, timeout_seconds: float) -> None:
        self.calls.append(("shutdown", name))
        if self.obeys:
            self.power_off(name)

    def destroy(self, name: str) -> None:
        self.calls.append(("destroy", name))
        self.power_off(name)

    def is_running(self, name: str) -> bool:
        return name in self.running

    def power_off(self, name: str) -> None:
        """The guest powers off by itself."""
        self.running.pop(name, None)
