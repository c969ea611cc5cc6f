# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Since when a worker has had no job."""

from __future__ import annotations

from typing import Protocol

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

# slurmctld forgets a finished job after MinJobAge, 300 s at least here. After a longer time without a reading a
# whole job may have come and gone unseen.
UNSEEN_SECONDS = 240


class IdleClock(Protocol):
    """What is remembered of a node: the last complete reading and what it showed (Unix seconds)."""

    updated_at: int | None
    idle_since: int | None
    is_drained_by_us: bool


def idle_since(now: int, node: SlurmNode, slurm: SlurmReading, memory: IdleClock) -> int:
    """Return the Unix time since which the node has had no job; ``now`` while it has one.

    Our own memory comes first: on 22.05 a restart of slurmctld sets LastBusyTime to that moment. Where memory has
    a gap, slurmctld's time is taken, which errs only towards a shorter idle time (except for a suspended job,
    which is seen as a live one here), then the boot of the machine.
    """
    if slurm.live_jobs_on(node.name):
        return now
    if memory.is_drained_by_us and node.is_untouched:
        # Somebody undrained the node: it counts as idle from here, as it does for slurmctld.
        return now
    known = [memory.idle_since, slurm.last_end_on(node.name, now)]
    if memory.idle_since is None or memory.updated_at is None or now - memory.updated_at > UNSEEN_SECONDS:
        known.append(node.last_busy_time or node.boot_time or now)
    return min(now, max(time for time in known if time is not None))
