# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a host's first_boot once more, by its own unit, and reading the recap."""

from __future__ import annotations

import re

from tests.service.progress import ServiceError
from tests.service.service import Service
from tests.service.service_template import FIRST_BOOT_UNIT

RUN_SECONDS = 600


def run_again(service: Service, vm_id: int) -> str:
    """Restart the unit on the host of a VM and return that run's log; ServiceError with the log when it fails."""
    done = service.run(vm_id, f"systemctl restart {FIRST_BOOT_UNIT}", timeout_seconds=RUN_SECONDS, check=False)
    run_id = service.run(vm_id, f"systemctl show --property InvocationID --value {FIRST_BOOT_UNIT}").stdout.strip()
    log = service.run(vm_id, f"journalctl --no-pager --output cat _SYSTEMD_INVOCATION_ID={run_id}").stdout
    if done.returncode != 0 or not recap(log):
        raise ServiceError(f"VM {vm_id}: {FIRST_BOOT_UNIT} did not run to its end: {done.stderr.strip()}\n{log}")
    return log


def recap(log: str) -> dict[str, int]:
    """Figures of the last `PLAY RECAP` line; empty when there is none."""
    lines = re.findall(r"^\S+\s+: (ok=\d+.*)$", log, re.MULTILINE)
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", lines[-1])} if lines else {}


def changed_tasks(log: str) -> list[str]:
    """Names of the tasks that changed something."""
    names: list[str] = []
    task = ""
    for line in log.splitlines():
        heading = re.match(r"TASK \[(.*)\] \*+", line)
        if heading:
            task = heading.group(1)
        elif line.startswith("changed:"):
            names.append(task)
    return names
