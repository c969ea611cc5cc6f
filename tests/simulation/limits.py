# SPDX-License-Identifier: GPL-3.0-or-later
"""The two limits of the contract under which a scale-down may meet a job, and the evidence that one applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.hosts import Worker
    from tests.simulation.world import World

#: From a change in the world to the figures of all workers: a tick and its length.
FIGURES_SECONDS = 60


def named_limit(world: World, worker: Worker) -> str:
    """Which limit applied when the pool's own rules let this worker go; "" for none."""
    reading = world.monitor.last_shrink_reading.get(worker.role_name)
    if reading is None:
        return ""
    before = world.monitor.shrink_before.get(worker.role_name, world.start)
    cooldown = world.settings.down_cooldown_seconds
    restarts = [at for at in world.oneflow_starts if before < at < reading]
    for began, ended, vm_id in world.fault_log:
        covers = vm_id is None and began <= before + FIGURES_SECONDS and ended >= reading - FIGURES_SECONDS
        if covers and (reading - before >= cooldown or restarts):
            return (
                f"OneGate was unreachable from {began - world.start:.0f} to {ended - world.start:.0f} s "
                f"while OLDEST_IDLE=1 stood; OneFlow removed one worker at {before - world.start:.0f} s and read it "
                f"again at {reading - world.start:.0f} s"
                + (f", its restart at {restarts[0] - world.start:.0f} s had ended the cooldown" if restarts else "")
            )
    acted = world.monitor.last_shrink_at[worker.role_name]
    distance = 2 * (world.settings.interval_seconds + world.settings.acting_delay_seconds) + FIGURES_SECONDS
    for ended, vm_id, role_name in world.monitor.hand_ends:
        if role_name == worker.role_name and vm_id != worker.vm_id and acted - distance <= ended <= acted:
            return (
                f"the oldest worker (VM {vm_id}) was terminated by hand at {ended - world.start:.0f} s, "
                f"between the readings before {acted - world.start:.0f} s"
            )
    return ""
