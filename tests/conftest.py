# SPDX-License-Identifier: GPL-3.0-or-later
"""Child processes of tests (modules, ansible-playbook) find this checkout as `onehpc.ondemand`.

SIGTERM is an interrupt: a run that is told to end still runs its teardowns, which end the lab's hosts.
"""

from __future__ import annotations

import os
import signal

from tests.checks.environment import tool_environment

os.environ.update(tool_environment())
signal.signal(signal.SIGTERM, signal.default_int_handler)
