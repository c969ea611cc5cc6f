# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The answer of ``sdiag``."""

from __future__ import annotations

import re

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError

_ACCOUNTING_BACKLOG = re.compile(rb"^DBD Agent queue size: *(\d+)\s*$", re.MULTILINE)


def parse_accounting_backlog(stdout: bytes) -> int:
    """How many messages slurmctld holds for slurmdbd. :raises SlurmAnswerError: there is no such line."""
    match = _ACCOUNTING_BACKLOG.search(stdout)
    if match is None:
        raise SlurmAnswerError("'sdiag' did not show the queue of messages to slurmdbd.")
    return int(match.group(1))
