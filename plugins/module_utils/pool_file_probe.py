# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether directories answer, asked by a child that may hang with their server without holding anybody up."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import Sequence

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import ProbeOutcome
from ansible_collections.onehpc.ondemand.plugins.module_utils.unprivileged import child_settings
from ansible_collections.onehpc.ondemand.plugins.module_utils.waiting import wait_until

KILLED_CHILD_SECONDS = 0.5
# A look that nothing holds up takes milliseconds: one that lasts longer hangs. The other may be a run by hand.
OTHER_LOOK_SECONDS = 1.0
LOCK_PAUSE_SECONDS = 0.02

# Attributes of files come from a cache while their server hangs, statvfs never does.
PROGRAM = """
import os, sys
for path in sys.argv[1:]:
    print(path, flush=True)
    try:
        os.statvfs(path)
        with os.scandir(path) as entries:
            next(entries, None)
    except OSError as error:
        print(error.strerror, flush=True)
        sys.exit(1)
"""


class FileProbe:
    """One child that looks at some directories, the only one there is on the host.

    The child holds the lock on the run-time file as long as it lives, and writes there what it looks at. A process
    that waits for a server in the kernel may outlive SIGKILL, the tick and its unit: while it does, no other starts.
    """

    def __init__(self, paths: Sequence[str], user: str, run_path: str, program: str = PROGRAM):
        """paths: the directories, looked at in this order. user: runs the child if this process is root's.

        :raises OSError: the child or its file cannot be made.
        """
        self._child = None
        os.makedirs(os.path.dirname(run_path), mode=0o755, exist_ok=True)
        self._file = os.open(run_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock()
            os.ftruncate(self._file, 0)
            self._child = subprocess.Popen(  # pylint: disable=ansible-bad-function
                # Not by its name in a virtual environment, which an account without rights may not reach.
                [os.path.realpath(sys.executable), "-I", "-S", "-c", program, *paths],
                stdin=subprocess.DEVNULL,
                stdout=self._file,
                stderr=subprocess.DEVNULL,
                **child_settings(user),
            )
        except BlockingIOError:
            pass  # an earlier child still lives
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        """Take the lock; BlockingIOError when another child keeps it."""
        lock = fcntl.LOCK_EX | fcntl.LOCK_NB
        wait_until(lambda: fcntl.flock(self._file, lock), BlockingIOError, OTHER_LOOK_SECONDS, LOCK_PAUSE_SECONDS)

    def outcome(self, timeout_seconds: float) -> ProbeOutcome:
        """Wait for the answer, not longer than this; to be called once. A child that has not answered is killed."""
        try:
            if self._child is None:
                return ProbeOutcome(self._last_line(), f"a look at it hangs since {self._age_seconds()} s")
            return self._answer(timeout_seconds)
        finally:
            os.close(self._file)

    def _answer(self, timeout_seconds: float) -> ProbeOutcome:
        try:
            return_code = self._child.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            return ProbeOutcome(self._last_line(), f"it does not answer within {timeout_seconds:.0f} s")
        lines = self._lines()
        if return_code == 0:
            return ProbeOutcome(" and ".join(lines))
        if len(lines) > 1:
            return ProbeOutcome(lines[-2], lines[-1])
        return ProbeOutcome(self._last_line(), f"the look at it ended with {return_code}")

    def _kill(self) -> None:
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait(KILLED_CHILD_SECONDS)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass  # it waits in the kernel: the lock tells the next tick

    def _lines(self) -> list[str]:
        return os.pread(self._file, 65536, 0).decode("utf-8", "replace").splitlines()

    def _last_line(self) -> str:
        return (self._lines() or ["the file systems"])[-1]

    def _age_seconds(self) -> int:
        return max(0, int(time.time() - os.fstat(self._file).st_mtime))
