# SPDX-License-Identifier: GPL-3.0-or-later
"""One user-mode Linux process: its command line, its start, and whether a process id is still that guest."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError

KERNEL = "linux.uml"

# Run as the first process of a host. A guest that reboots within its process finds its taps still held by its former
# self and comes back without a network, so it is told to exit instead, and started again when it said that it restarts.
# A helper of the former guest may outlive it for a moment, and with it the lock on the disk.
START_UNTIL_OFF = """
boots=0
while :; do
    while [ -e disk.cow ] && grep --quiet ":$(stat --format=%i disk.cow) " /proc/locks; do sleep 0.05; done
    "$0" "$@" noreboot
    boots=$((boots + 1))
    [ "$(grep --count "reboot: Restarting system" console.log)" -ge "$boots" ] || exit
done
"""


@dataclass(frozen=True)
class NetworkCard:
    """A card of the guest on a tap of the namespace."""

    tap: str
    mac: str


def kernel_arguments(
    umid: str, sockets_dir: Path, image: Path, memory_mib: int, cards: Sequence[NetworkCard]
) -> list[str]:
    """Command line of the guest. disk.cow and context.img are names in the working directory of the process."""
    for path in (sockets_dir, image):
        if any(character in str(path) for character in ":, "):
            raise LabError(f"{path}: a colon, comma or blank in the path cannot be said to user-mode Linux")
    arguments = [
        f"umid={umid}",
        f"uml_dir={sockets_dir}/",
        f"mem={memory_mib}M",
        f"ubd0=disk.cow,{image}",
        "ubd1=context.img",
        "root=/dev/ubda",
        "rw",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "selinux=0",
        "apparmor=0",
        "audit=0",
        "fsck.mode=skip",
        "loglevel=4",
        "systemd.show_status=true",
        "TERM=dumb",
    ]
    for index, card in enumerate(cards):
        arguments.append(f"vec{index}:transport=tap,ifname={card.tap},mac={card.mac}")
    return arguments


def start_guest(
    prefix: Sequence[str], arguments: Sequence[str], core: int, directory: Path, memory_dir: Path
) -> subprocess.Popen:
    """Starts the guest pinned to one core, in a session of its own; console.log of directory takes its console.

    An unpinned guest is several times slower in system calls. memory_dir holds the guest's memory, unlinked at once.
    """
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(directory), "TMPDIR": str(memory_dir)}
    (directory / "console.log").write_bytes(b"")
    with open(directory / "console.log", "ab") as console:
        try:
            return subprocess.Popen(
                ["taskset", "-c", str(core), *prefix, "sh", "-c", START_UNTIL_OFF, KERNEL, *arguments],
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise LabError(f"{error.filename} is not installed: see tests/setup/packages.txt") from error


def started_at(pid: int) -> int | None:
    """When the process started, in the kernel's ticks since its boot; None when it is gone or a zombie.

    Together with the id this names one process: unlike the command line it never changes, also not by exec.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Fields 3 and 22 of proc_pid_stat(5).
    return None if fields[0] in ("Z", "X") else int(fields[19])


def processes_of(umid: str, groups: Set[int]) -> dict[int, int]:
    """Living processes of this guest (id to process group): each that carries its umid, which no other guest has had.

    Its kernel makes a process group of its own, and helpers outlive a kernel that is killed. A process of the given
    groups whose command line is empty is about to exec or to exit: it counts, for it may still hold the guest's disk.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, group = fields[0], int(fields[2])
        ours = f"umid={umid}".encode() in arguments or (arguments == [b""] and group in groups)
        if ours and state not in ("Z", "X"):
            found[int(entry.name)] = group
    return found
