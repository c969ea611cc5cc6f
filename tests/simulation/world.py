# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a schedule: OneFlow, slurmctld and the machines in one virtual time, and who watches them."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from ansible_collections.onehpc.ondemand.plugins.module_utils import (
    pool_leave,
    pool_onegate_read,
    pool_reconcile,
    pool_report,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import ProbeOutcome
from tests.opennebula.cloud import Cloud
from tests.opennebula.hypervisor import Guest
from tests.opennebula.settings import Settings as CloudSettings
from tests.opennebula.states import ServiceState
from tests.simulation.clock import NestingClock
from tests.simulation.doors import GateDoor, SlurmDoor
from tests.simulation.happenings import Happenings
from tests.simulation.hosts import Host, Portal, Worker
from tests.simulation.monitor import Monitor, Stopped
from tests.simulation.schedule import AFTER_READING, AT_TIME, Event, Schedule
from tests.simulation.service import service_template, vm_template
from tests.simulation.slurm_model import SlurmModel

MEMORY_DIRECTORY = "/dev/shm"
SAMPLE_SECONDS = 10.0


class InlineExecutor:
    """Calls that would run at once run one after the other: virtual time has one thread."""

    def __init__(self, max_workers: int) -> None:
        self._max_workers = max_workers

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def map(self, call, *iterables):
        return [call(*arguments) for arguments in zip(*iterables, strict=True)]


class World:
    """Everything of one run. It is the hypervisor of its cloud, too.

    :param tells: keep every line of the story and samples for the picture.
    :param stops: end with the first violation.
    """

    def __init__(self, schedule: Schedule, tells: bool = False, stops: bool = False) -> None:
        self.schedule = schedule
        self.settings = schedule.settings
        self.random = Random(schedule.seed)
        self.tells = tells
        self.stops = stops
        self.story: list[tuple[float, str]] = []
        self.clock = NestingClock()
        self.clock.lock.acquire()
        self.directory = ""
        self.hosts: dict[int, Host] = {}
        self.hosts_in_tick: list[Host] = []
        self.leaving: set[str] = set()
        self.armed: dict[str, list[Event]] = defaultdict(list)
        self.planned_boots: list[tuple[str, float]] = []
        self.faults: list[tuple[str, float, int | None]] = []
        self.fault_log: list[tuple[float, float, int | None]] = []
        self.oneflow_starts: list[float] = []
        self.unlisted: set[int] = set()
        self.reading_times: list[float] = []
        self.settled = False
        self.cloud = Cloud(
            self.clock,
            self,
            CloudSettings(
                autoscaler_interval_seconds=self.settings.interval_seconds,
                wait_timeout_seconds=30,
                power_poll_seconds=2,
            ),
        )
        # guests that power off by themselves are told at once, so nobody needs to look for them every 2 s
        self.cloud.vms._watching_power = True
        self.slurm = SlurmModel(self.clock, Random(schedule.seed + 1), self.settings.slurm)
        self.monitor = Monitor(self)
        self.happenings = Happenings(self)
        template_id = self.cloud.create_vm_template(vm_template())
        flow_template = self.cloud.oneflow.create_template(service_template(template_id, self.settings))
        self._watch_readings()
        self.service = self.cloud.oneflow.instantiate(flow_template, {})
        self.service_id = self.service.id
        self.start = 0.0

    # --- the run ---

    def run(self) -> Monitor:
        """Bring the service up, let the schedule pass, and return what was seen."""
        self.directory = tempfile.mkdtemp(prefix="onehpc-simulation-", dir=MEMORY_DIRECTORY)
        try:
            with real_ticks(self):
                self._settle()
                for event in self.schedule.events:
                    self._plan(event)
                self._sample()
                self.clock.run_until(self.start + self.settings.duration_seconds)
        except Stopped:
            pass
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
        return self.monitor

    def _settle(self) -> None:
        """Until the service runs with all its workers."""
        while self.service.state != ServiceState.RUNNING:
            if self.clock.now() > 1_800_000_000 + 600:
                raise AssertionError(f"the service never came up: {self.service.state.name}")
            self.clock.pass_time(1)
        self.cloud.oneflow.start()
        self.cloud.set_conditions(acting_delay_seconds=self.settings.acting_delay_seconds)
        self.start = self.clock.now()
        self.settled = True

    def _plan(self, event: Event) -> None:
        def come() -> None:
            if event.after == AT_TIME:
                self.happenings.happen(event, None)
            else:
                self.armed[event.after].append(event)

        self.clock.call_later(event.at, come)

    def _sample(self) -> None:
        self.monitor.sample(SAMPLE_SECONDS)
        self.clock.call_later(SAMPLE_SECONDS, self._sample)

    def moment(self, kind: str, host: Host | None) -> None:
        """Something has happened that events wait for."""
        waiting = self.armed.get(kind)
        if waiting:
            event = waiting.pop(0)
            if event.delay <= 0:
                self.happenings.happen(event, host)
            else:
                self.clock.call_later(event.delay, lambda: self.happenings.happen(event, host))

    @property
    def seconds(self) -> float:
        """Since the beginning of the schedule."""
        return self.clock.now() - self.start

    def say(self, text: str) -> None:
        """A line of the story."""
        if self.tells:
            self.story.append((self.clock.now() - self.start, text))

    # --- looking ---

    def role_of(self, name: str) -> dict:
        return self.service.role(name)

    def listed_workers(self, role_name: str) -> list[Worker]:
        """The role's machines in OneFlow's order."""
        role = self.service.role(role_name)
        return [self.hosts[node["deploy_id"]] for node in role["nodes"] if node["deploy_id"] in self.hosts]

    def all_workers(self) -> list[Worker]:
        return [host for role in self.settings.roles for host in self.listed_workers(role.name)]

    def host_of_node(self, name: str) -> Host | None:
        return next((host for host in self.hosts.values() if host.name == name), None)

    @property
    def portal(self) -> Host:
        return next(host for host in self.hosts.values() if isinstance(host, Portal))

    def gate_fault(self, host: Host) -> str:
        """How OneGate goes wrong for this machine now; "" when it does not."""
        now = self.clock.now()
        for kind, until, vm_id in self.faults:
            if now < until and vm_id in (None, host.vm_id):
                return kind
        return ""

    def next_boot(self) -> tuple[str, float]:
        """How the next worker boots: ("ok" or "never-ready", seconds)."""
        if not self.settled:
            return "ok", 5.0
        if self.planned_boots:
            return self.planned_boots.pop(0)
        return "ok", float(self.settings.boot_seconds)

    def _watch_readings(self) -> None:
        """Note when the autoscaler reads."""
        autoscaler = self.cloud.oneflow._autoscaler
        read = autoscaler._read

        def noted() -> None:
            self.reading_times.append(self.clock.now())
            self.monitor.autoscaler_reads()
            read()
            if any(host.has_power and self._says_idle(host) for host in self.all_workers()):
                self.moment(AFTER_READING, None)

        autoscaler._read = noted

    def _says_idle(self, host: Host) -> bool:
        return self.cloud.vms.get(host.vm_id).attribute("OLDEST_IDLE") == "1"

    # --- the cloud's hypervisor ---

    def deploy(self, guest: Guest) -> None:
        vm = self.cloud.vms.get(guest.vm_id)
        host = self.hosts.get(guest.vm_id)
        if host is None:
            roles = {role.name: role for role in self.settings.roles}
            if vm.role_name in roles:
                host = Worker(self, vm.id, roles[vm.role_name])
            else:
                host = (Portal if vm.role_name == "portal" else Host)(self, vm.id, vm.role_name)
            self.hosts[vm.id] = host
        host.power_on()

    def _host(self, name: str) -> Host | None:
        return self.hosts.get(int(name.removeprefix("vm-")))

    def shutdown(self, name: str, timeout_seconds: float) -> None:
        host = self._host(name)
        if host is not None:
            self.say(f"{host.name} is asked to power off")
            host.stop()

    def destroy(self, name: str) -> None:
        host = self._host(name)
        if isinstance(host, Worker):
            host.cut("power taken")
        elif host is not None:
            host.has_power = False

    def is_running(self, name: str) -> bool:
        host = self._host(name)
        return host is not None and host.has_power


@contextmanager
def real_ticks(world: World) -> Iterator[None]:
    """Let the product's ticks meet this world: only their clients are others, and no thread is started."""

    def slurm(*_: object) -> SlurmDoor:
        return SlurmDoor(world.hosts_in_tick[-1])

    def gate(given: dict) -> GateDoor:
        return GateDoor(given["endpoint"])

    def healthy(*_: object) -> list[ProbeOutcome]:
        return [ProbeOutcome("home")]

    with (
        patch.object(pool_report, "SlurmClient", slurm),
        patch.object(pool_report, "client_of", gate),
        patch.object(pool_reconcile, "SlurmClient", slurm),
        patch.object(pool_reconcile, "client_of", gate),
        patch.object(pool_leave, "SlurmClient", slurm),
        patch.object(pool_leave, "client_of", gate),
        patch.object(pool_onegate_read, "ThreadPoolExecutor", InlineExecutor),
        patch.object(pool_report, "probe_health", healthy),
    ):
        yield
