# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the journal keeps of a tick."""

from __future__ import annotations

DOCUMENTATION = r"""
name: tick
type: stdout
short_description: One line for each task that fails, and else nothing
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - For playbooks that run every few seconds. The action plugins of this collection say themselves, in one line, what
    they saw and decided, so that a log of them reads well.
  - A task that fails is one line with its name and its message.
requirements:
  - set as stdout callback, as by the environment variable E(ANSIBLE_STDOUT_CALLBACK)
"""

EXAMPLES = r"""
# What a run by hand prints of a tick
run: ANSIBLE_STDOUT_CALLBACK=onehpc.ondemand.tick ansible-playbook onehpc.ondemand.reconcile_worker
"""

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "onehpc.ondemand.tick"

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            self._tell(result, "failed")

    def v2_runner_on_unreachable(self, result):
        self._tell(result, "host not reached")

    def _tell(self, result, what):
        message = " ".join(str(result._result.get("msg", "no message")).split())
        self._display.display(f"{result._task.get_name()}: {what}: {message}")
