# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The answer of ``scontrol ping``."""

from __future__ import annotations

import re

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError

_CONTROLLER = re.compile(r"^Slurmctld\((?P<rank>[^)]*)\) at (?P<host>\S+) is (?P<state>UP|DOWN)\s*$", re.MULTILINE)


def parse_ping(stdout: bytes) -> bool:
    """Tell whether any controller is UP. The return code is of no use: it is 1 for DOWN and for a missing setup.

    :raises SlurmAnswerError: the output names no controller, so nothing is known.
    """
    states = {match.group("state") for match in _CONTROLLER.finditer(stdout.decode("utf-8", "replace"))}
    if not states:
        raise SlurmAnswerError("'scontrol ping' named no controller.")
    return "UP" in states
