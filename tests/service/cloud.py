# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated OpenNebula as a process of its own inside the lab's namespace."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from tests.checks.environment import ROOT, tool_environment
from tests.lab.lab import Lab
from tests.service.progress import ServiceError

AUTOSCALER_INTERVAL_SECONDS = 30
HOST_MEMORY_MIB = 1024
END_SECONDS = 120  # it first ends its hosts


def start_cloud(run_dir: Path, lab: Lab, autoscaler_seconds: int = AUTOSCALER_INTERVAL_SECONDS) -> None:
    """Start it and return at once; pid and log files are in `run_dir`, output.log is what it prints.

    autoscaler_seconds: between two rounds in which OneFlow reads the policies' figures.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    command = (
        *("ip", "netns", "exec", lab.namespace, sys.executable, "-m", "tests.opennebula", "serve"),
        *("--run-dir", str(run_dir), "--lab", str(lab.run_dir)),
        *("--autoscaler-interval", str(autoscaler_seconds), "--memory-limit-mib", str(HOST_MEMORY_MIB)),
    )
    with open(run_dir / "output.log", "ab") as output:
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=tool_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end_cloud(run_dir: Path) -> None:
    """End it and wait for it; harmless when it has ended. ServiceError when it does not end in time."""
    try:
        pid = int((run_dir / "opennebula.pid").read_text())
        descriptor = os.pidfd_open(pid)
    except (OSError, ValueError):
        return
    try:
        if not _is_cloud_of(run_dir, pid):
            return  # the number belongs to another process by now
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        if not ended.poll(END_SECONDS * 1000):
            raise ServiceError(f"the simulated OpenNebula (process {pid}) did not end within {END_SECONDS} s")
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def _is_cloud_of(run_dir: Path, pid: int) -> bool:
    try:
        return str(run_dir).encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
