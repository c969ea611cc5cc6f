# SPDX-License-Identifier: GPL-3.0-or-later
"""Which scenarios the latest commits concern."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

COMMITS = 20

# What every scenario runs through.
ALL = (
    "molecule/config.yml",
    "molecule/tasks",
    "playbooks/first_boot.yml",
    "roles/common",
    "plugins/module_utils/onegate",
    "plugins/modules/onegate",
    "tests/lab",
    "tests/opennebula",
    "tests/scenarios",
)
# What each one is about, beside its own folder. A path stands for every file whose name begins with it.
FILES = {
    "boot": (
        "plugins/module_utils/boot",
        "plugins/module_utils/context",
        "plugins/module_utils/git_url.py",
        "plugins/module_utils/parameter",
        "tests/boot",
        "tests/service/boot",
        "tests/service/git_server.py",
    ),
    "pool": (
        "playbooks/files",
        "playbooks/reconcile",
        "plugins/action/pool",
        "plugins/module_utils/pool",
        "plugins/module_utils/slurm",
        "plugins/modules/pool",
        "roles/portal",
        "roles/worker",
        "tests/pool",
        "tests/service",
    ),
    "storage": ("roles/storage", "plugins/modules/state_export.py", "plugins/module_utils/state_export"),
    "portal": (
        "roles/portal",
        "plugins/modules/pool_reconcile.py",
        "plugins/module_utils/pool",
        "plugins/module_utils/slurm",
    ),
    "worker": (
        "roles/worker",
        "plugins/modules/munge_key.py",
        "plugins/modules/pool_leave.py",
        "plugins/modules/pool_report.py",
        "plugins/module_utils/munge_key",
        "plugins/module_utils/pool",
        "plugins/module_utils/slurm",
    ),
}


def changed_scenarios(root: Path, scenarios: Sequence[str]) -> list[str]:
    """Those of `scenarios` with a file that one of the last COMMITS commits changed; all when git cannot tell."""
    files = changed_files(root)
    if files is None:
        return list(scenarios)
    return [name for name in scenarios if any(path.startswith(prefixes(name)) for path in files)]


def prefixes(scenario: str) -> tuple[str, ...]:
    """What the paths of a scenario's files begin with."""
    return (f"molecule/{scenario}/", *FILES.get(scenario, ()), *ALL)


def changed_files(root: Path) -> set[str] | None:
    """Files of the last COMMITS commits, or of as many as there are; None when this is no checkout.

    The oldest commit of a shallow clone counts with every file: git cannot know what it changed.
    """
    command = ("git", "log", "-z", f"--max-count={COMMITS}", "--name-only", "--no-renames", "--format=", "-m")
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return {name for name in listed.split("\0") if name}
