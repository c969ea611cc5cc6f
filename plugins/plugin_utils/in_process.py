# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugins that run their module's code in process where they can.

A module over a local connection costs a process, its packaging and a second import of everything; code that runs
every 30 seconds on every host is worth the short way. Over any other connection the module is shipped as usual.
"""

from __future__ import annotations

import os

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError

display = Display()


class InProcessAction(ActionBase):
    """Subclasses name the module and its code.

    MODULE_NAME: full name of the module; CORE: what the module runs, a Python module with ARGUMENTS, the argument spec
    (dict), and run(params, check_mode), which returns the result (dict) or raises OnehpcError; REASON: the part of the
    result that says why, which goes to the log as one line.
    """

    MODULE_NAME = ""
    CORE = None
    REASON = "why"

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        if not self._runs_here():
            result.update(self._execute_module(module_name=self.MODULE_NAME, task_vars=task_vars))
        else:
            result.update(self._result_here())
        if result.get(self.REASON):
            display.display(f"{self.MODULE_NAME}: {' '.join(result[self.REASON].split())}")
        return result

    def _result_here(self):
        _validation, params = self.validate_argument_spec(self.CORE.ARGUMENTS)
        try:
            return self.CORE.run(params, self._task.check_mode)
        except OnehpcError as error:
            return {"failed": True, "msg": str(error)}

    def _runs_here(self):
        """True on this very host, as this very user and in this very environment."""
        if self._connection.transport != "local" or self._task.async_val or any(self._task.environment or []):
            return False
        become = self._connection.become
        return become is None or (os.geteuid() == 0 and (self.get_become_option("become_user") or "root") == "root")
