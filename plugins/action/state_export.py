# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""state_export in process over a local connection, as a module over any other."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils import state_export_tick
from ansible_collections.onehpc.ondemand.plugins.plugin_utils.in_process import InProcessAction


class ActionModule(InProcessAction):
    MODULE_NAME = "onehpc.ondemand.state_export"
    CORE = state_export_tick
    REASON = "reason"
