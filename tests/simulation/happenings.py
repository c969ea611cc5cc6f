# SPDX-License-Identifier: GPL-3.0-or-later
"""What may happen in a schedule: each event names one of these methods."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.opennebula.oneflow_errors import OneFlowError
from tests.opennebula.states import LcmState, ServiceState, VmState
from tests.opennebula.vms import VmError
from tests.simulation import slurm_scheduler
from tests.simulation.doors import is_ours
from tests.simulation.monitor import RECOVERY_SECONDS
from tests.simulation.schedule import Event
from tests.simulation.slurm_records import RUNNING, JobRecord

if TYPE_CHECKING:
    from tests.simulation.hosts import Host, Worker
    from tests.simulation.world import World

#: A person looks after a service that has not run for so long.
REPAIR_SECONDS = 420
REPAIR_STEP_SECONDS = 60
FOREIGN_REASON = "maintenance by alice"


class Happenings:
    """``at``: the machine at which the event's moment came, None at a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.jobs: dict[int, JobRecord] = {}
        self.at: Host | None = None
        self._repaired_at = 0.0

    def happen(self, event: Event, at: Host | None) -> None:
        self.at = at
        self.world.say(f"event: {event}")
        getattr(self, event.what)(**event.arguments)

    def _worker(self, index: int, role: int = 0) -> Worker | None:
        """The machine of the moment, else the worker at that place of the role's list."""
        roles = self.world.settings.roles
        if self.at is not None and self.at.role_name in {known.name for known in roles}:
            return self.at
        workers = self.world.listed_workers(roles[role % len(roles)].name)
        return workers[index % len(workers)] if workers else None

    # --- jobs ---

    def submit(
        self,
        key: int,
        seconds: float,
        cpus: int = 1,
        memory: int | None = 100,
        nodes: int = 1,
        exclusive: bool = False,
        role: int | None = None,
        tasks: int | None = None,
        throttle: int | None = None,
        begin: float = 0,
        depends_on: int | None = None,
        on: int | None = None,
        held: bool = False,
    ) -> None:
        """``role``: the index of the worker role that it asks for. ``on``: the worker that it asks for."""
        world = self.world
        if not world.slurm.is_up:
            return
        worker = self._worker(on) if on is not None else None
        other = self.jobs.get(depends_on) if depends_on is not None else None
        roles = world.settings.roles
        job = world.slurm.submit(
            cpus_per_node=cpus,
            memory_per_node=memory,
            node_count=nodes,
            exclusive=exclusive,
            feature=roles[role % len(roles)].name if role is not None else "",
            wanted_node=worker.name if worker is not None and worker.name in world.slurm.nodes else "",
            run_seconds=seconds,
            tasks=tasks,
            throttle=throttle,
            begin_time=world.clock.now() + begin if begin else 0.0,
            depends_on=other.job_id if other is not None else None,
        )
        self.jobs[key] = job
        if held:
            world.slurm.hold(job, "User")
        world.say(f"job {job.job_id} is submitted")

    def submit_wide(self, key: int, seconds: float, role: int = 0) -> None:
        """A job that needs every worker that the role has now, drained ones too."""
        roles = self.world.settings.roles
        index = role % len(roles)
        workers = [host for host in self.world.listed_workers(roles[index].name) if host.has_slurmd]
        if workers:
            self.submit(key, seconds, nodes=len(workers), exclusive=True, role=index)

    def squeeze(self, key: int, seconds: float) -> None:
        """A job that starts at once, on the machine of the moment if it can."""
        self.submit(key, seconds, exclusive=True, on=0)
        if self.world.slurm.is_up:
            slurm_scheduler.run(self.world.slurm, backfill=True)

    def _each(self, key: int) -> list[JobRecord]:
        job = self.jobs.get(key)
        if job is None or not self.world.slurm.is_up:
            return []
        return [other for other in self.world.slurm.jobs.values() if other.array_job_id == job.array_job_id]

    def cancel(self, key: int) -> None:
        for job in self._each(key):
            self.world.slurm.cancel(job)

    def hold(self, key: int, by: str = "User") -> None:
        for job in self._each(key):
            self.world.slurm.hold(job, by)

    def release(self, key: int) -> None:
        for job in self._each(key):
            self.world.slurm.release(job)

    def suspend(self, key: int, seconds: float) -> None:
        for job in self._each(key):
            self.world.slurm.suspend(job)
        self.world.clock.call_later(seconds, lambda: self._resume(key))

    def _resume(self, key: int) -> None:
        for job in self._each(key):
            self.world.slurm.resume(job)

    # --- machines ---

    def boot_fails(self) -> None:
        """The hypervisor refuses the next machine."""
        conditions = self.world.cloud.conditions
        conditions.failing_boots = min(2, conditions.failing_boots + 1)

    def boot_hangs(self) -> None:
        """The next machine never reports ready."""
        self.world.planned_boots.append(("never-ready", 0.0))

    def boot_slow(self, seconds: float) -> None:
        self.world.planned_boots.append(("ok", seconds))

    def kill(self, worker: int, role: int = 0) -> None:
        """The worker's host goes down, and OpenNebula finds out a little later."""
        host = self._worker(worker, role)
        if host is None or not host.has_power:
            return
        host.cut("crash")
        vm = self.world.cloud.vms.get(host.vm_id)

        def found_out() -> None:
            if vm.is_in(VmState.ACTIVE, LcmState.RUNNING):
                self.world.cloud.vms.lose_contact(vm)

        self.world.clock.call_later(20, found_out)

    def terminate(self, worker: int, role: int = 0) -> None:
        """Somebody terminates a worker's VM."""
        host = self._worker(worker, role)
        if host is not None:
            self._end_by_hand(host)

    def _end_by_hand(self, host: Worker, hard: bool = False) -> None:
        vm = self.world.cloud.vms.get(host.vm_id)
        before = host.end_cause
        host.end_cause = before or "by hand"
        try:
            self.world.cloud.vms.terminate(vm, hard)
        except VmError:
            host.end_cause = before
        else:
            self.world.monitor.hand_ends.append((self.world.clock.now(), host.vm_id, host.role_name))

    def power_cycle(self, worker: int, seconds: float, role: int = 0, other: bool = False) -> None:
        """Somebody powers a worker off and on again; meanwhile the service is in WARNING.

        ``other``: not the machine of the moment.
        """
        if other:
            self.at = None
        host = self._worker(worker, role)
        if host is None:
            return
        vms = self.world.cloud.vms
        vm = vms.get(host.vm_id)
        host.end_cause = "by hand"
        try:
            vms.poweroff(vm)
        except VmError:
            host.end_cause = ""
            return

        def on_again() -> None:
            try:
                vms.resume(vm)
            except VmError:
                return
            host.end_cause = ""

        self.world.clock.call_later(max(40.0, seconds), on_again)

    def cut_off(self, worker: int, seconds: float, role: int = 0) -> None:
        """The worker's network to slurmctld fails for a while."""
        host = self._worker(worker, role)
        slurm = self.world.slurm
        if host is None or not slurm.has_slurmd(host.name) or host.vm_id in self.world.unlisted:
            return
        host.is_cut_off = True
        self.hinder(host, seconds)
        slurm.lose(host.name, jobs_die=False)

        def back() -> None:
            host.is_cut_off = False
            if host.has_slurmd:
                slurm.find(host.name)

        self.world.clock.call_later(seconds, back)

    def unlist(self, worker: int, seconds: float, role: int = 0) -> None:
        """OneFlow loses a worker from its list for a while, though its VM runs.

        Not of one that is cut off as well: nobody could tell that from a VM that is gone.
        """
        host = self._worker(worker, role)
        if host is not None and not host.is_cut_off:
            self._unlist(host, seconds)

    def _unlist(self, host: Worker, seconds: float) -> None:
        self.world.unlisted.add(host.vm_id)
        self.hinder(host, seconds)
        self.world.monitor.list_wrong_until = self.world.clock.now() + seconds + RECOVERY_SECONDS
        self.world.clock.call_later(seconds, lambda: self.world.unlisted.discard(host.vm_id))

    def blink(self, worker: int, role: int = 0) -> None:
        """A worker that is cut off for a while is missing from OneFlow's list in one reading."""
        host = self._worker(worker, role)
        if host is None or not self.world.slurm.has_slurmd(host.name):
            return
        self.cut_off(worker, 100, role)
        self.at = host
        self.world.clock.call_later(60, lambda: self._unlist(host, 19))

    def lose_suspended(self, key: int, by_hand: bool) -> None:
        """A worker goes under a job that somebody has suspended there."""
        world = self.world
        known = [*self._each(key), *world.slurm.jobs.values()]
        running = [job for job in known if job.state == RUNNING and job.node_count == 1]
        if not running:
            return
        world.slurm.suspend(running[0])
        host = world.host_of_node(running[0].node_names[0])

        def goes() -> None:
            self.at = host
            if by_hand:
                self._end_by_hand(host, hard=True)
            else:
                self.kill(0)
            self.at = None

        world.clock.call_later(20, goes)

    def forget(self, worker: int, garbled: bool = False, role: int = 0) -> None:
        """A worker loses its memory, or finds it garbled."""
        host = self._worker(worker, role)
        if host is None or not os.path.exists(host.memory_path):
            return
        if garbled:
            with open(host.memory_path, "w", encoding="ascii") as file:
                file.write('{"node_name": "')
        else:
            os.unlink(host.memory_path)

    # --- ticks and servers ---

    def hinder(self, host: Host, seconds: float) -> None:
        """Its figures are not to be trusted for a while."""
        until = self.world.clock.now() + seconds + RECOVERY_SECONDS
        host.hindered_until = max(host.hindered_until, until)

    def _hinder_all(self, seconds: float) -> None:
        for host in self.world.hosts.values():
            self.hinder(host, seconds)

    def skip_ticks(self, worker: int, count: int, role: int = 0) -> None:
        host = self._worker(worker, role)
        if host is not None:
            host.skips += count
            self.hinder(host, 32.0 * count)

    def skip_portal_ticks(self, count: int) -> None:
        self.world.portal.skips += count
        self.hinder(self.world.portal, 32.0 * count)

    def report_stops(self, worker: int, seconds: float, role: int = 0) -> None:
        host = self._worker(worker, role)
        if host is not None:
            host.silent_until = max(host.silent_until, self.world.clock.now() + seconds)
            self.hinder(host, seconds)

    def pause_controller(self, seconds: float) -> None:
        if not self.world.slurm.is_up:
            return
        self.world.slurm.pause()
        self._hinder_all(seconds)
        self.world.clock.call_later(seconds, self.world.slurm.go_on)

    def gate_fails(self, kind: str, seconds: float, worker: int | None = None) -> None:
        """``kind``: 500, garbage, nothing, lost (the answer alone). Without a worker for all of them."""
        world = self.world
        host = None
        if worker is not None:
            self.at = None
            host = self._worker(worker)
        now = world.clock.now()
        vm_id = host.vm_id if host is not None else None
        world.faults = [fault for fault in world.faults if fault[1] > now]
        world.faults.append((kind, now + seconds, vm_id))
        world.fault_log.append((now, now + seconds, vm_id))
        if host is not None:
            self.hinder(host, seconds)
        else:
            self._hinder_all(seconds)

    def stop_oneflow(self, seconds: float) -> None:
        """OneFlow is down: OneGate answers 404 for the service, and nothing is evaluated."""
        oneflow = self.world.cloud.oneflow
        if not oneflow.available:
            return
        oneflow.available = False
        oneflow._autoscaler.stop()
        self._hinder_all(seconds)
        self.world.clock.call_later(seconds, self._start_oneflow)

    def stop_autoscaler(self, seconds: float) -> None:
        """Its thread has died; only a restart of OneFlow brings it back."""
        world = self.world
        world.cloud.oneflow._autoscaler.stop()
        world.monitor.autoscaler_off_until = max(world.monitor.autoscaler_off_until, world.clock.now() + seconds)
        world.clock.call_later(seconds, self._start_oneflow)

    def _start_oneflow(self) -> None:
        oneflow = self.world.cloud.oneflow
        oneflow.available = True
        self.world.oneflow_starts.append(self.world.clock.now())
        oneflow.start()

    # --- people ---

    def drain(self, worker: int, seconds: float, role: int = 0) -> None:
        """Somebody drains a node, whatever is on it, and undrains it later unless its reason has changed."""
        host = self._worker(worker, role)
        slurm = self.world.slurm
        if host is None or host.name not in slurm.nodes or not slurm.is_up:
            return
        slurm.drain(host.name, FOREIGN_REASON, "alice")
        self.world.monitor.counts["foreign drains"] += 1
        self.world.monitor.touched_at = self.world.clock.now()

        def over() -> None:
            node = slurm.nodes.get(host.name)
            if node is None or not slurm.is_up:
                return
            if node.reason != FOREIGN_REASON and not is_ours(node.reason) and not node.is_down:
                self.world.monitor.foreign_drain_lost(node)
            elif node.reason == FOREIGN_REASON:
                self.undrain_node(host.name)

        self.world.clock.call_later(seconds, over)

    def undrain(self, worker: int, role: int = 0) -> None:
        """Somebody undrains a node, also one that the pool has drained."""
        host = self._worker(worker, role)
        slurm = self.world.slurm
        if host is not None and host.name in slurm.nodes and slurm.is_up:
            self.undrain_node(host.name)

    def undrain_node(self, name: str) -> None:
        """Its idle time counts from here, as for slurmctld."""
        self.world.slurm.undrain(name)
        self.world.monitor.touched_at = self.world.monitor.undrained_at = self.world.clock.now()

    def scale(self, cardinality: int, role: int = 0) -> None:
        """Somebody scales a role up by hand."""
        roles = self.world.settings.roles
        chosen = roles[role % len(roles)]
        wanted = max(self.world.role_of(chosen.name)["cardinality"], min(chosen.maximum, cardinality))
        try:
            self.world.cloud.oneflow.scale(self.world.service_id, chosen.name, wanted)
        except OneFlowError:
            return

    def repair(self) -> None:
        """A person does what the documentation says, one step a minute, once the service has long not run."""
        world = self.world
        since = world.monitor.not_running_since
        now = world.clock.now()
        if since is None or now - since < REPAIR_SECONDS or now - self._repaired_at < REPAIR_STEP_SECONDS:
            return
        if world.service.state == ServiceState.COOLDOWN or not world.cloud.oneflow.available:
            return
        self._repaired_at = now
        state = world.service.state
        world.say(f"a person repairs the service in {state.name}")
        if state == ServiceState.FAILED_SCALING:
            try:
                world.cloud.oneflow.recover(world.service_id)
            except OneFlowError:
                pass
            return
        for role in world.settings.roles:
            for node in world.role_of(role.name)["nodes"]:
                vm = world.cloud.vms.get(node["deploy_id"])
                host = world.hosts.get(vm.id)
                is_well = vm.is_in(VmState.ACTIVE, LcmState.RUNNING) and (host is None or host.is_ready)
                is_booting = host is not None and host.has_power and now - world.monitor.seen(vm.id) < REPAIR_SECONDS
                if is_well or is_booting or vm.state == VmState.DONE:
                    continue
                if host is not None:
                    self._end_by_hand(host, hard=True)
                else:
                    world.cloud.vms.terminate(vm, hard=True)
                return
        if state == ServiceState.WARNING:
            self._start_oneflow()
