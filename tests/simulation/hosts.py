# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of the service: how they boot, tick and end. Each tick is the product's own code."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ansible_collections.onehpc.ondemand.plugins.module_utils import pool_leave, pool_reconcile, pool_report
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import neutral_figures
from tests.simulation.doors import GateDoor
from tests.simulation.schedule import RoleSettings

if TYPE_CHECKING:
    from tests.simulation.world import World

PREFIX = "ood-worker-"
_NUMBER = re.compile(r"[0-9]+")
TICK_SECONDS = 30.0
JITTER_SECONDS = 2.0
#: From its power to the first update of a machine.
FIRST_UPDATE_SECONDS = 3.0
STOP_UNIT_SECONDS = 1.0
SLURMD_STOPS_SECONDS = 4.0
POWER_OFF_SECONDS = (5.0, 20.0)


def options(module, **given) -> dict:
    """The module's options: defaults, and these."""
    values = {name: argument.get("default") for name, argument in module.ARGUMENTS.items()}
    return {**values, **{name: value for name, value in given.items() if name in values}}


class Host:
    """What all machines share."""

    def __init__(self, world: World, vm_id: int, role_name: str) -> None:
        self.world = world
        self.vm_id = vm_id
        self.role_name = role_name
        self.name = role_name
        self.has_power = False
        self.incarnation = 0
        self.call_seconds = world.random.choice((0.02, 0.05, 0.1, 0.3, 1.0))
        self.skips = 0
        self.silent_until = 0.0
        self.hindered_until = 0.0
        self.ticks = 0
        self.is_cut_off = False
        self._told = ""

    def later(self, seconds: float, call) -> None:
        """Call it unless the machine has lost its power by then."""
        incarnation = self.incarnation

        def if_it_still_runs() -> None:
            if self.has_power and self.incarnation == incarnation:
                call()

        self.world.clock.call_later(seconds, if_it_still_runs)

    def power_on(self) -> None:
        self.has_power = True
        self.incarnation += 1
        self.boot()

    def boot(self) -> None:
        """Report ready at once: storage and portal are no part of what is simulated here."""
        self.later(1, self.report_ready)

    def report_ready(self) -> None:
        self.publish({"READY": "YES"})

    def publish(self, attributes: dict) -> bool:
        try:
            GateDoor(self).put_vm(attributes)
        except OneGateError:
            return False
        return True

    def stop(self) -> None:
        """Asked to power off."""
        self.later(2, self.power_off)

    def power_off(self) -> None:
        self.has_power = False

    def start_ticks(self) -> None:
        self.later(self.world.random.uniform(0, TICK_SECONDS), self._tick)

    def _tick(self) -> None:
        began = self.world.clock.now()
        if self.skips > 0:
            self.skips -= 1
        elif began >= self.silent_until:
            self.ticks += 1
            self.world.hosts_in_tick.append(self)
            try:
                self.tick()
            except OnehpcError as error:
                self.world.monitor.tick_failed(self, str(error))
            finally:
                self.world.hosts_in_tick.pop()
        if self.has_power:
            pause = TICK_SECONDS + self.world.random.uniform(0, JITTER_SECONDS)
            self.later(max(0.0, began + pause - self.world.clock.now()), self._tick)

    def tick(self) -> None:
        """One run of the product's tick."""

    def _tell(self, result: dict) -> None:
        """Tell why the tick did what it did, unless its last sentence was the same but for numbers."""
        if self.world.tells:
            bare = _NUMBER.sub("", result["why"])
            if bare != self._told:
                self._told = bare
                self.world.say(f"{self.name} tick: {result['why']}")


class Portal(Host):
    """The portal: only its reconcile tick matters here."""

    def report_ready(self) -> None:
        super().report_ready()
        self.start_ticks()

    def tick(self) -> None:
        self.call_seconds = self.world.random.choice((0.02, 0.05, 0.3))
        settings = self.world.settings
        given = options(
            pool_reconcile,
            endpoint=self,
            timeout_seconds=25.0,
            node_prefix=PREFIX,
            shapes="",
            memory_path=os.path.join(self.world.directory, "portal.json"),
            scaling=settings.mode,
            idle_seconds=settings.idle_seconds,
            drain_seconds=settings.drain_seconds,
            min_vms=settings.roles[0].minimum,
            max_vms=max(role.maximum for role in settings.roles),
        )
        self._tell(pool_reconcile.run(given, False, now=self.world.clock.now))


class Worker(Host):
    """A worker: it boots, registers with slurmctld, reports ready, ticks, and leaves."""

    def __init__(self, world: World, vm_id: int, role: RoleSettings) -> None:
        super().__init__(world, vm_id, role.name)
        self.role = role
        self.name = f"{PREFIX}{vm_id}"
        self.is_ready = False
        self.ready_at = 0.0
        #: Why the machine ends: by the pool unless somebody else has said so.
        self.end_cause = ""
        self.reported_at = 0.0
        #: A slurmd runs there, whether or not slurmctld reaches it.
        self.has_slurmd = False

    @property
    def memory_path(self) -> str:
        return os.path.join(self.world.directory, f"{self.vm_id}.json")

    def boot(self) -> None:
        self.is_ready = False
        self.silent_until = 0.0
        how, seconds = self.world.next_boot()
        self.later(FIRST_UPDATE_SECONDS, self._first_update)
        if how == "never-ready":
            self.world.monitor.counts["failed boots"] += 1
        else:
            self.later(seconds, self._register)

    def _first_update(self) -> None:
        update = {"READY": "NO", "ERROR": "", **neutral_figures(int(self.world.clock.now()))}
        if not self.publish(update):
            self.later(5, self._first_update)

    def _register(self) -> None:
        slurm = self.world.slurm
        if not slurm.is_up:
            self.later(5, self._register)
            return
        address = self.world.cloud.vms.get(self.vm_id).template["NIC"][-1]["IP"]
        slurm.register(self.name, address, self.role.cpus, self.role.memory_mib, frozenset([self.role.name]))
        self.has_slurmd = True
        self.world.say(f"{self.name} registers")
        self.later(2, self.report_ready)

    def report_ready(self) -> None:
        if not self.publish({"SLURM_NODENAME": self.name, "READY": "YES"}):
            self.later(5, self.report_ready)
            return
        if not self.is_ready:
            self.is_ready = True
            self.ready_at = self.world.clock.now()
            self.start_ticks()

    def tick(self) -> None:
        self.call_seconds = self.world.random.choice((0.02, 0.05, 0.1, 0.3, 1.0))
        settings = self.world.settings
        given = options(
            pool_report,
            endpoint=self,
            timeout_seconds=25.0,
            node_name=self.name,
            node_prefix=PREFIX,
            idle_seconds=settings.idle_seconds,
            drain_seconds=settings.drain_seconds,
            min_vms=self.role.minimum,
            max_vms=max(role.maximum for role in settings.roles),
            memory_path=self.memory_path,
            scaling=settings.mode,
        )
        self._tell(pool_report.run(given, False, now=self.world.clock.now))

    def stop(self) -> None:
        """A clean end: the stop unit, then slurmd, then the power."""
        self.later(STOP_UNIT_SECONDS, self._leave)
        self.later(SLURMD_STOPS_SECONDS, self._slurmd_ends)
        self.later(self.world.random.uniform(*POWER_OFF_SECONDS), self.power_off)

    def _leave(self) -> None:
        self.silent_until = float("inf")
        given = options(pool_leave, endpoint=self, timeout_seconds=20.0, node_name=self.name)
        self.world.hosts_in_tick.append(self)
        self.world.leaving.add(self.name)
        try:
            pool_leave.run(given, False, now=self.world.clock.now)
        except OnehpcError:
            pass
        finally:
            self.world.hosts_in_tick.pop()

    def _slurmd_ends(self) -> None:
        if not self.has_slurmd:
            return
        self.has_slurmd = False
        dying = self.world.slurm.lose(self.name, jobs_die=True)
        self.world.monitor.jobs_die(self, dying)

    def cut(self, cause: str) -> None:
        """The power goes at once."""
        if not self.has_power:
            return
        self.end_cause = self.end_cause or cause
        self.has_power = False
        self._slurmd_ends()

    def power_off(self) -> None:
        self._slurmd_ends()
        self.has_power = False
