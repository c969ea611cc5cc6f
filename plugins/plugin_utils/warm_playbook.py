# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ansible-playbook inside a process that has loaded it before."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import shutil

from ansible import constants
from ansible.cli.playbook import PlaybookCLI
from ansible.utils.collection_loader import _collection_finder

# What Ansible loads on the way through any playbook of local actions, and what a OneGate client needs of Python.
_LOADED_LATER = (
    "ansible.executor.process.worker",
    "ansible.executor.task_executor",
    "ansible.module_utils.connection",
    "ansible.playbook.handler_task_include",
    "ansible.playbook.included_file",
    "ansible.playbook.role_include",
    "ansible.plugins.cache.memory",
    "ansible.plugins.callback.default",
    "ansible.plugins.connection.local",
    "ansible.plugins.inventory",
    "ansible.plugins.shell.sh",
    "ansible.plugins.strategy.linear",
    "ansible.plugins.vars.host_group_vars",
    "ansible.utils.unsafe_proxy",
    "multiprocessing.popen_fork",
    "multiprocessing.shared_memory",
    "ssl",
    "urllib.request",
)
# A playbook is over before a full look for garbage would pay; one that makes a lot of it is still looked at.
_ALLOCATIONS_BEFORE_COLLECTION = 100_000


def settle() -> None:
    """Once, before the first fork: load the rest, and keep what is loaded from every child's garbage collector.

    The folder for temporary files that Ansible has made for this process goes: each playbook makes its own.
    """
    for name in _LOADED_LATER:
        try:
            importlib.import_module(name)
        except ImportError:  # another version of Ansible has it elsewhere
            continue
    _remember_routing()
    shutil.rmtree(constants.DEFAULT_LOCAL_TMP, ignore_errors=True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTION)


def _remember_routing() -> None:
    """Parse once where Ansible's own plugins are: 370 kB of YAML, a quarter of what is left of a playbook without this.

    What was parsed is remembered by its text, so another text is parsed anew.
    """
    parse = getattr(_collection_finder, "_meta_yml_to_dict", None)
    path = os.path.join(os.path.dirname(constants.__file__), "config", "ansible_builtin_runtime.yml")
    if parse is None or not os.path.exists(path):  # another version of Ansible does it otherwise
        return
    _collection_finder._meta_yml_to_dict = functools.lru_cache(maxsize=None)(parse)
    with open(path, "rb") as routing:
        _collection_finder._meta_yml_to_dict(routing.read(), ("ansible.builtin", "runtime.yml"))


def read_files() -> list:
    """Files besides its code that Ansible has read while it was loaded."""
    return [constants.CONFIG_FILE] if constants.CONFIG_FILE else []


def run_playbook(argv: list) -> int:
    """Run `ansible-playbook` (argv: the program's path first) in this process; returns its exit status."""
    constants.DEFAULT_LOCAL_TMP = constants.config.get_config_value("DEFAULT_LOCAL_TMP")
    try:
        PlaybookCLI.cli_executor(argv)
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        shutil.rmtree(constants.DEFAULT_LOCAL_TMP, ignore_errors=True)
    return 0
