# SPDX-License-Identifier: GPL-3.0-or-later
"""`changed_when: false` is for pure reads only: anything else would hide a change from the recap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

# First words of commands that only read. A longer entry allows less: `systemctl is-active`, not `systemctl`.
READS = (
    "awk /^JobId=[0-9]+",
    "cat",
    "chronyc tracking",
    "chronyc waitsync",
    "date",
    "grep",
    "exportfs -s",
    "exportfs -v",
    "findmnt",
    "getent",
    "nproc",
    "rpcinfo",
    "sacctmgr --noheader --parsable2 show",
    "scontrol ping",
    "scontrol show",
    "scontrol -o show",
    "scontrol --oneliner show",
    "showmount",
    "sinfo",
    "slurmctld -V",
    "slurmd -C",
    "slurmd -V",
    "squeue",
    "stat",
    "systemctl cat",
    "systemctl is-active",
    "systemctl is-enabled",
    "systemctl show",
    "systemd-analyze verify",
    "test",
    "timedatectl show",
    "timeout {{ portal_slurmdbd_wait_seconds }} sh -c until sacctmgr --noheader --parsable2 show",
    "timeout {{ portal_slurmdbd_wait_seconds }} sh -c until scontrol ping",
    "timeout 20 unshare --mount mount",  # gone with its own mount namespace
    "visudo --check",
)
COMMAND_MODULES = ("ansible.builtin.command", "ansible.builtin.shell", "ansible.builtin.raw", "ansible.builtin.script")
# Modules that change nothing by themselves.
READING_MODULES = (
    "ansible.builtin.assert",
    "ansible.builtin.debug",
    "ansible.builtin.setup",
    "ansible.builtin.slurp",
    "ansible.builtin.stat",
    "ansible.builtin.wait_for",
)


class _Loader(yaml.SafeLoader):
    """Reads Ansible's own tags (`!unsafe`, `!vault`) as plain values."""


_Loader.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def tasks(path: Path) -> Iterator[dict]:
    """All tasks of a task file or playbook, those inside blocks too."""
    for item in yaml.load(path.read_text(), Loader=_Loader) or []:
        yield from _tasks_below(item)


def _tasks_below(item: object) -> Iterator[dict]:
    if not isinstance(item, dict):
        return
    yield item
    for section in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
        for below in item.get(section) or []:
            yield from _tasks_below(below)


def hides_a_change(task: dict) -> bool:
    """True for a task with `changed_when: false` that is not a known pure read of the host.

    A task on the controller (building the collection's tarball) changes nothing of the host the recap is about.
    """
    if task.get("changed_when") not in (False, "false", "no") or task.get("delegate_to") == "localhost":
        return False
    if any(module in task for module in READING_MODULES):
        return False
    for module in COMMAND_MODULES:
        if module in task:
            return not _is_read(_command_line(task[module]))
    return True


def _command_line(arguments: object) -> str:
    if isinstance(arguments, dict):
        arguments = arguments.get("argv") or arguments.get("cmd") or ""
    if isinstance(arguments, list):
        arguments = " ".join(map(str, arguments))
    return " ".join(str(arguments).split())


def _is_read(command_line: str) -> bool:
    program, _blank, rest = command_line.partition(" ")
    command_line = f"{program.rsplit('/', 1)[-1]} {rest} "
    return any(command_line.startswith(f"{read} ") for read in READS)
