# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The first boot's playbook as a child that ends in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from ansible_collections.onehpc.ondemand.plugins.module_utils.process_tree import end_descendants

PLAYBOOK = "onehpc.ondemand.first_boot"
TERMINATION_SECONDS = 5
_ERROR_MARKS = ("[ERROR]:", "ERROR!")


def run_playbook(settings):
    """Run the playbook; returns None when it ended well, else a clause that says how it ended.

    Its output goes where this process's own goes. What it has started and left behind is ended with it, unless it
    ended well.
    """
    argv = [os.path.join(settings.programs_path, "ansible-playbook"), PLAYBOOK]
    environment = {**os.environ, "ANSIBLE_CONFIG": os.path.join(settings.config_path, "ansible.cfg")}
    try:
        # No module runs here, whose run_command ansible-test asks for.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            argv, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        return f"{argv[0]} cannot be run: {error.strerror}"
    errors = _Errors(process.stderr)
    try:
        code = process.wait(settings.playbook_seconds)
    except subprocess.TimeoutExpired:
        _terminate(process)
        return f"it did not end within {settings.playbook_seconds:g} s"
    finally:
        if process.poll() != 0:
            end_descendants()
    return None if code == 0 else errors.first() or _ending(code)


def _terminate(process):
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(TERMINATION_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ending(code):
    return f"it was ended by signal {-code}" if code < 0 else f"it ended with {code}"


class _Errors:
    """Passes a stream on to stderr and keeps the first error that Ansible reports there."""

    def __init__(self, stream):
        self._stream = stream
        self._first = ""
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def first(self):
        """The text of that error, "" when there was none."""
        self._thread.join(1)
        return self._first

    def _pass_on(self):
        for line in self._stream:
            text = line.decode("utf-8", "replace")
            sys.stderr.write(text)
            sys.stderr.flush()
            if not self._first and text.startswith(_ERROR_MARKS):
                self._first = text.partition(" ")[2].strip().rstrip(".")
