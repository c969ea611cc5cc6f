# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ansible-playbook inside a process that has loaded it before."""

from __future__ import annotations

import gc
import shutil

from ansible import constants
from ansible.cli.playbook import PlaybookCLI


def settle() -> None:
    """Once, before the first fork: what is loaded stays, so no child's garbage collector looks at it.

    The folder for temporary files that Ansible has made for this process goes: each playbook makes its own.
    """
    shutil.rmtree(constants.DEFAULT_LOCAL_TMP, ignore_errors=True)
    gc.collect()
    gc.freeze()


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
