# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs commands for a root file system that is not running: mounts, processes and daemons end with the command."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.errors import LabError

# Run in a mount and process namespace of its own, so that nothing stays mounted or running whatever happens.
# /dev holds only what programs need; /sys is read-only, so that no package touches the machine's control groups.
MOUNT_AND_RUN = """
set -e
mount -t proc proc "$TREE/proc"
mount -t sysfs -o ro sysfs "$TREE/sys"
mount -t tmpfs -o mode=755 tmpfs "$TREE/run"
mount -t tmpfs -o mode=755 tmpfs "$TREE/dev"
mkdir "$TREE/dev/pts" "$TREE/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$TREE/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$TREE/dev/shm"
ln -s pts/ptmx "$TREE/dev/ptmx"
ln -s /proc/self/fd "$TREE/dev/fd"
for device in null zero full random urandom tty; do
    touch "$TREE/dev/$device"
    mount --bind "/dev/$device" "$TREE/dev/$device"
done
exec "$@"
"""


def run_for_tree(
    tree: Path, argv: Sequence[str], timeout_seconds: float, log: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Runs argv, outside the tree, while the tree has its kernel file systems. Output is appended to log.

    LabError with the last lines of it when the command fails or hangs; the whole of it is ended then.
    """
    command = ["setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command += ["sh", "-c", MOUNT_AND_RUN, "sh", *argv]
    shown = shlex.join(argv)
    with open(log, "ab") as output:
        output.write(f"\n$ {shown}\n".encode())
        output.flush()
        process = subprocess.Popen(
            command,
            env={**(os.environ if environment is None else environment), "TREE": str(tree)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)
    if status != 0:
        ended = f"did not end within {timeout_seconds:g} s" if status is None else f"ended with {status}"
        last = "\n".join(log.read_text(errors="replace").splitlines()[-40:])
        raise LabError(f"building the image: `{shown}` {ended}. Last lines of {log}:\n{last}")


def run_in_tree(tree: Path, argv: Sequence[str], timeout_seconds: float, log: Path) -> None:
    """Runs argv inside the tree; see run_for_tree."""
    run_for_tree(tree, ["chroot", str(tree), *argv], timeout_seconds, log)
