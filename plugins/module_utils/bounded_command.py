# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A command that cannot outlive the time it is given, and whose children cannot either."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from typing import Mapping, Sequence

from ansible_collections.onehpc.ondemand.plugins.module_utils.unprivileged import child_settings


@dataclass(frozen=True)
class CommandResult:
    """What a command left behind. Output is bytes: it may hold text of users in any encoding."""

    return_code: int
    stdout: bytes
    stderr: bytes


class CommandTimeout(Exception):
    """The command did not end in time and was killed."""


def run_bounded(
    argv: Sequence[str], environment: Mapping[str, str], timeout_seconds: float, user: str | None = None
) -> CommandResult:
    """Run a command without a shell and without input, in a process group of its own.

    user: the account that a process of root runs it as, None for root itself.

    :raises CommandTimeout: it did not end in time; the whole group is killed, since a child that keeps the
        output open would otherwise hold the caller.
    :raises OSError: it cannot be started, or there is no such user.
    """
    # AnsibleModule.run_command would need a module, which action plugins have not, and has no time limit.
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        **({"start_new_session": True} if user is None else child_settings(user)),
    )
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_seconds)
        except BaseException as error:
            _kill_group(process)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise CommandTimeout from None
            raise
    return CommandResult(process.returncode, stdout, stderr)


def _kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
