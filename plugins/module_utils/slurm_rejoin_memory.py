# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A file for what somebody else had put on a node, from the end of the old record to the start of the new one."""

from __future__ import annotations

import contextlib
import os

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_memory_file import (
    read_memory_file,
    write_memory_file,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_foreign_word import ForeignWord


def remember(path: str, node_name: str, word: ForeignWord) -> None:
    """Replace the file. :raises PoolError: it cannot be written."""
    write_memory_file(path, {"node_name": node_name, "reason": word.reason, "keeps_jobs_off": word.keeps_jobs_off})


def recall(path: str, node_name: str) -> ForeignWord | None:
    """What is remembered of this node. :raises PoolError: the file may not be read."""
    data = read_memory_file(path)
    if data.get("node_name") != node_name or not isinstance(data.get("reason"), str):
        return None
    return ForeignWord(data["reason"], bool(data.get("keeps_jobs_off")))


def forget(path: str) -> None:
    """Remove the file, also when it is gone."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
