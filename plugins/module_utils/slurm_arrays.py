# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pending tasks of a job array as one squeue line shows them: ``1-4%2``, ``1,3,5-9:2%3``.

squeue is called without ``-r``: one line then stands for all pending tasks and carries the throttle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError

_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


@dataclass(frozen=True)
class ArrayTasks:
    """How many tasks one line stands for, and how many of the array may run at once (None: no limit)."""

    task_count: int
    throttle: int | None = None

    def startable(self, running_count: int) -> int:
        """Return how many of these tasks could start now if there were room, with ``running_count`` running."""
        if self.throttle is None:
            return self.task_count
        return min(self.task_count, max(0, self.throttle - running_count))


def parse_array_tasks(text: str) -> ArrayTasks | None:
    """Read squeue's ArrayTaskID column; None when the job is no array.

    :raises SlurmAnswerError: another text, such as a list that squeue cut short with ``...`` (it does so
        unless SLURM_BITSTR_LEN=0 is in its environment): the number of tasks would be wrong.
    """
    if text in ("N/A", "(null)", ""):
        return None
    tasks, percent, limit = text.strip("[]").partition("%")
    if percent and not limit.isdigit():
        raise SlurmAnswerError(f"The array tasks '{text}' of a job cannot be read.")
    count = 0
    for part in tasks.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise SlurmAnswerError(f"The array tasks '{text}' of a job cannot be read.")
        first, last, step = (int(number) if number else None for number in match.groups())
        if last is None:
            count += 1
        elif last < first or step == 0:
            raise SlurmAnswerError(f"The array tasks '{text}' of a job cannot be read.")
        else:
            count += (last - first) // (step or 1) + 1
    # Slurm prints %0 for "no limit" when a throttle was taken away again.
    throttle = int(limit) if percent and int(limit) > 0 else None
    return ArrayTasks(task_count=count, throttle=throttle)
