# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold in every run, judged from the true state of the world and never by the pool's own code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.opennebula.states import LcmState, ServiceState, VmState
from tests.simulation import slurm_scheduler
from tests.simulation.doors import is_ours
from tests.simulation.limits import named_limit
from tests.simulation.schedule import DIRECT, RoleSettings
from tests.simulation.slurm_records import PENDING, RUNNING, JobRecord, NodeRecord

if TYPE_CHECKING:
    from tests.simulation.hosts import Host, Worker
    from tests.simulation.world import World

#: A worker's ticks are this far apart at most, with their own length.
TICK_SECONDS = 45
STALE_SECONDS = 90
#: The grace of a return, and a tick before and after it.
RETURN_SECONDS = 150 + 2 * TICK_SECONDS
SPARE_SECONDS = 60
#: After a trouble of a host its next good figures stand by then.
RECOVERY_SECONDS = 65
#: A tick acts on what it has read, so a state counts as known only after this time.
KNOWN_SECONDS = 30

_MANY = frozenset(["POLICY_EVALUATED", "VM_UPDATE", "READY"])
FROZEN = frozenset([ServiceState.WARNING, ServiceState.FAILED_SCALING])

KILLED = "a job was killed by a scale-down"
LIVING_DELETED = "the node of a living machine was deleted"
LIVING_DOWN = "the node of a living machine was set down"
FOREIGN = "a foreign drain was touched"
LATE = "a counted job has not started within its bound"
UNRETURNED = "a drained worker was not returned to a waiting job"
UNSHRUNK = "an idle pool did not shrink"
DELETED_FROZEN = "a node was deleted while the service was frozen"
UNSAID = "a frozen service was not named in ERROR"
WANTED_DRAINED = "a worker was drained that a waiting job could use"
SHRUNK_WANTED = "OneFlow was let shrink a role for which a job waited"
SHRUNK_CARDINALITY = "OneFlow was asked for fewer workers than it had"
FROZEN_DRAIN = "a worker was drained while the service did not run"
BELOW_MINIMUM = "a drain left fewer workers than the minimum"
BUSY_DRAINED = "a worker was drained that was not idle for its time"
CRASHED = "slurmctld crashed"
BROKEN = "a tick broke"


class Stopped(BaseException):
    """The run has seen enough. No Exception, since a tick catches all of those."""


@dataclass(frozen=True)
class Violation:
    """``what``: one of the sentences above. ``seconds``: since the beginning of the schedule."""

    seconds: float
    what: str
    detail: str

    def __str__(self) -> str:
        return f"{self.seconds:7.1f} {self.what}: {self.detail}"


@dataclass
class Wait:
    """How long a job has waited where that counts, and how long it may."""

    waited: float = 0.0
    limit: float = 0.0
    ahead: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Sample:
    """For the picture, at one moment. ``workers``: each listed one and how it stands."""

    seconds: float
    waiting: int
    running: int
    workers: tuple[tuple[str, str], ...]
    state: str


class Monitor:
    """``counts``: how often something interesting happened."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.counts: Counter[str] = Counter()
        self.violations: list[Violation] = []
        self.samples: list[Sample] = []
        self.killed_in_limits: list[str] = []
        self.hand_ends: list[tuple[float, int, str]] = []
        self.autoscaler_off_until = 0.0
        self.not_running_since: float | None = None
        self.frozen_since: float | None = None
        self._waits: dict[int, Wait] = {}
        self._idle: dict[str, float] = {}
        self._idle_key: dict[str, tuple] = {}
        self._drained_waits: dict[str, float] = {}
        self._waiting_since: dict[int, float] = {}
        self._frozen_seconds = 0.0
        self._listed = 0
        self.list_wrong_until = 0.0
        #: When somebody or something else has last changed what a node can do.
        self.touched_at = 0.0
        #: When a node has last been undrained, by whom ever: its idle time counts from there.
        self.undrained_at = 0.0
        self._last_job: dict[str, float] = {}
        self._seen: dict[int, float] = {}
        self.last_shrink_reading: dict[str, float] = {}
        self.last_shrink_at: dict[str, float] = {}
        self.shrink_before: dict[str, float] = {}
        world.slurm.on_start = self._job_starts
        world.slurm.on_end = self._job_ends
        world.cloud.events.add = self._hear

    def violate(self, what: str, detail: str) -> None:
        self.violations.append(Violation(self.world.seconds, what, detail))
        self.world.say(f"*** {what}: {detail}")
        if self.world.stops:
            raise Stopped

    # --- heard ---

    def _hear(
        self,
        now: float,
        kind: str,
        text: str,
        vm: int | None = None,
        service: int | None = None,
        role: str | None = None,
    ) -> None:
        """An event of the simulated OpenNebula, in place of its own record of events."""
        if kind == "VM_CREATED" and vm is not None:
            self._seen[vm] = now
        if not self.world.settled or kind in _MANY:
            return
        if kind == "POLICY_FIRED":
            direction = "down" if text.endswith("-1") else "up"
            self.counts[f"scale-{direction}s"] += 1
            if direction == "down" and role is not None:
                if role in self.last_shrink_at:
                    self.shrink_before[role] = self.last_shrink_at[role]
                self.last_shrink_reading[role] = self.world.reading_times[-1]
                self.last_shrink_at[role] = now
                self._judge_shrinking(role, self.world.reading_times[-1])
            if self.world.settings.acting_delay_seconds:
                self.counts["delayed readings"] += 1
        if kind == "VM_STATE" and text.startswith("BOOT_FAILURE"):
            self.counts["failed boots"] += 1
        if kind == "SERVICE_STATE":
            is_frozen = self.world.service.state in FROZEN
            self.frozen_since = (self.frozen_since or self.world.clock.now()) if is_frozen else None
            self.not_running_since = (
                None if text.endswith("-> RUNNING") else (self.not_running_since or self.world.clock.now())
            )
        if self.world.tells:
            about = " ".join(str(part) for part in (role, vm) if part is not None)
            self.world.say(f"{kind} {about}: {text}")

    def _judge_shrinking(self, role_name: str, read_at: float) -> None:
        """What OneFlow read was published by workers that knew of no waiting job."""
        world = self.world
        role = next(role for role in world.settings.roles if role.name == role_name)
        if not world.slurm.is_up or not all(self._is_judged(worker) for worker in world.listed_workers(role_name)):
            return
        for job in self._counted_jobs():
            if fits(job, role) and self._waiting_since.get(job.job_id, read_at) < read_at - 2 * TICK_SECONDS:
                self.violate(SHRUNK_WANTED, f"{role_name}, job {job.job_id} ({job.reason})")

    def seen(self, vm_id: int) -> float:
        """When the VM was made."""
        return self._seen.get(vm_id, 0.0)

    def _job_starts(self, job: JobRecord) -> None:
        self.counts["jobs started"] += 1
        self._waits.pop(job.job_id, None)
        for name in job.node_names:
            self._last_job[name] = self.world.clock.now()
        self.world.say(f"job {job.job_id} starts on {','.join(job.node_names)}")

    def _job_ends(self, job: JobRecord, how: str) -> None:
        self.counts[f"jobs {how}"] += 1
        for name in job.node_names:
            self._last_job[name] = self.world.clock.now()
        self.world.say(f"job {job.job_id} ends: {how}")

    def tick_failed(self, host: Host, sentence: str) -> None:
        self.counts["failed ticks"] += 1
        if "Unexpected " in sentence:
            self.violate(BROKEN, f"{host.name}: {sentence}")

    def publishes(self, host: Host, vm_id: int, attributes: dict) -> None:
        if "REPORT_TIME" not in attributes or not hasattr(host, "reported_at"):
            return
        now = self.world.clock.now()
        if self.world.settled and host.reported_at and now - host.reported_at > STALE_SECONDS:
            self.counts["stale reports"] += 1
        host.reported_at = now

    def autoscaler_reads(self) -> None:
        self.counts["readings"] += 1

    def foreign_drain_lost(self, record: NodeRecord) -> None:
        """Somebody's drain is no longer there when it should end."""
        if self.world.tells:
            self.world.say(f"{record.name} has lost its drain")

    # --- what the pool does to nodes ---

    def pool_drains(self, host: Host, record: NodeRecord, reason: str) -> None:
        if (record.is_drained or record.reason) and not is_ours(record.reason):
            self.violate(FOREIGN, f"{record.name} had '{record.reason}', {host.name} wrote '{reason}'")
            return
        if reason.endswith(":idle") and not record.is_drained:
            self.counts["drains"] += 1
            self._judge_drain(host, record)
        elif reason.endswith(":returning"):
            self._count_return(record)

    def _judge_drain(self, host: Host, record: NodeRecord) -> None:
        world = self.world
        now = world.clock.now()
        if self.not_running_since is not None and now - self.not_running_since > KNOWN_SECONDS:
            self.violate(FROZEN_DRAIN, f"{record.name}, the service is {world.service.state.name}")
        owner = world.host_of_node(record.name)
        role = next((role for role in world.settings.roles if role.name == owner.role_name), None)
        names = [worker.name for worker in world.listed_workers(role.name)]
        left = [
            node
            for node in (world.slurm.nodes.get(name) for name in names)
            if node is not None and node is not record and not (node.is_down or node.is_silent or node.is_drained)
        ]
        if len(left) < role.minimum and now - self.touched_at > KNOWN_SECONDS:
            self.violate(BELOW_MINIMUM, f"{record.name}: {len(left)} of {role.minimum} are left")
        if any(now - self._waiting_since.get(job.job_id, now) > KNOWN_SECONDS and self._serves(record, job)
               for job in self._counted_jobs()):  # fmt: skip
            self.violate(WANTED_DRAINED, record.name)
        busy_at = now if record.jobs else self._last_job.get(record.name, self.seen(owner.vm_id))
        if now - busy_at < world.settings.idle_seconds - KNOWN_SECONDS:
            self.violate(BUSY_DRAINED, f"{record.name} was busy {now - busy_at:.0f} s ago")

    def pool_undrains(self, host: Host, record: NodeRecord) -> None:
        if record.is_drained and not is_ours(record.reason):
            self.violate(FOREIGN, f"{record.name} had '{record.reason}', {host.name} returned it")
        if not record.reason.endswith(":returning"):
            self._count_return(record)
        self.counts["returns"] += 1
        self.undrained_at = self.world.clock.now()

    def _count_return(self, record: NodeRecord) -> None:
        by_job = any(self._serves(record, job) for job in self._counted_jobs())
        self.counts["returns by a job" if by_job else "returns otherwise"] += 1

    def pool_sets_down(self, host: Host, record: NodeRecord) -> None:
        self.counts["set down"] += 1
        if self._lives(record):
            self.violate(LIVING_DOWN, record.name)

    def _lives(self, record: NodeRecord) -> bool:
        """Its machine runs a slurmd, reached or not."""
        owner = self.world.host_of_node(record.name)
        return owner is not None and owner.has_power and owner.has_slurmd

    def _is_known_frozen(self) -> bool:
        since = self.frozen_since
        return since is not None and self.world.clock.now() - since > KNOWN_SECONDS

    def pool_scales(self, host: Host, role_name: str, cardinality: int) -> None:
        """The portal asks OneFlow for another cardinality."""
        self.counts["growths asked for"] += 1
        if cardinality < self.world.role_of(role_name)["cardinality"]:
            self.violate(SHRUNK_CARDINALITY, f"{role_name} to {cardinality}")

    def pool_terminates(self, host: Host, vm_id: int) -> None:
        """The portal ends a worker's VM."""
        self.counts["scale-downs"] += 1
        self.world.say(f"{host.name} terminates VM {vm_id}")

    def pool_deletes(self, host: Host, record: NodeRecord) -> None:
        if record.is_future:
            return
        if self.world.slurm.crashes:
            self.violate(CRASHED, f"{host.name} deleted {record.name} under a suspended job")
        if host.name == record.name:
            self.counts["own deletions"] += 1
            return
        self.counts["deletions"] += 1
        if self._is_known_frozen():
            self.violate(DELETED_FROZEN, f"{record.name}, the service is {self.world.service.state.name}")
        if self._lives(record):
            self.violate(LIVING_DELETED, f"{record.name} by {host.name}")

    def jobs_die(self, worker: Worker, jobs: list[JobRecord]) -> None:
        """The machine is gone under these jobs."""
        if not jobs:
            return
        cause = worker.end_cause
        self.counts["jobs killed otherwise" if cause else "jobs killed"] += len(jobs)
        if cause:
            return
        numbers = ", ".join(str(job.job_id) for job in jobs)
        limit = named_limit(self.world, worker)
        if limit:
            self.counts["jobs killed in a named limit"] += len(jobs)
            self.killed_in_limits.append(f"job {numbers} on {worker.name}: {limit}")
            self.world.say(f"job {numbers} killed in a named limit: {limit}")
        else:
            self.violate(KILLED, f"job {numbers} on {worker.name}")

    # --- looked at again and again ---

    def sample(self, passed: float) -> None:
        """Look at everything; ``passed``: seconds since the last look."""
        world = self.world
        if world.slurm.is_up:
            counted = self._counted_jobs()
            now = world.clock.now()
            self._waiting_since = {job.job_id: self._waiting_since.get(job.job_id, now) for job in counted}
            self._judge_waits(counted, passed)
            self._judge_drained(counted, passed)
            for role in world.settings.roles:
                self._judge_idle(role, counted, passed)
        self._judge_frozen(passed)
        world.happenings.repair()
        if world.tells:
            self._picture()

    def _counted_jobs(self) -> list[JobRecord]:
        """Jobs that wait for nothing but a worker that can be had, oldest first."""
        slurm = self.world.slurm
        roles = self.world.settings.roles
        machines = sum(not node.is_future for node in slurm.nodes.values())
        most = max(role.maximum for role in roles) * len(roles)
        found = []
        for job in slurm.jobs.values():
            if job.state != PENDING or job.wanted_node or slurm_scheduler._reason_of_its_own(slurm, job):
                continue
            if not any(fits(job, role) for role in roles):
                continue
            if job.node_count > most:
                continue
            capable = sum(slurm_scheduler._can_hold(node, job) for node in slurm.nodes.values())
            if capable >= job.node_count or machines < job.node_count:
                found.append(job)
        return found

    def _serves(self, record: NodeRecord, job: JobRecord) -> bool:
        return slurm_scheduler._can_hold(record, job)

    def is_able(self, worker: Worker) -> bool:
        """Its ticks have worked long enough for its figures to be good, and OneFlow counts them."""
        now = self.world.clock.now()
        vm = self.world.cloud.vms.get(worker.vm_id)
        return (
            worker.is_ready
            and now - worker.ready_at > RECOVERY_SECONDS
            and now > worker.hindered_until
            and vm.is_in(VmState.ACTIVE, LcmState.RUNNING)
        )

    def _is_judged(self, worker: Worker) -> bool:
        """Who decides about the worker's node has had no trouble lately."""
        now = self.world.clock.now()
        if now < self.list_wrong_until:
            return False
        if self.world.settings.mode == DIRECT:
            return now > self.world.portal.hindered_until
        return self.is_able(worker)

    def _judge_waits(self, counted: list[JobRecord], passed: float) -> None:
        world = self.world
        settings = world.settings
        is_direct = settings.mode == DIRECT
        step = 0 if is_direct else 2 * (max(30, settings.interval_seconds) + settings.acting_delay_seconds)
        # OneFlow scales one role at a time, so each step may wait for one of every other role
        step *= len(settings.roles)
        spare = 0 if is_direct else SPARE_SECONDS / 2
        listed = len(world.all_workers())
        lost, self._listed = max(0, self._listed - listed), listed
        now = world.clock.now()
        evaluates = (
            (is_direct or now > self.autoscaler_off_until)
            and world.cloud.oneflow.available
            and now > self.list_wrong_until
        )
        waits = {}
        for index, job in enumerate(counted):
            wait = waits[job.job_id] = self._waits.get(job.job_id) or Wait(
                limit=2 * SPARE_SECONDS + is_direct * TICK_SECONDS
            )
            roles = [role for role in settings.roles if fits(job, role)]
            wait.limit += lost * (step + spare)
            for other in (*counted[:index], job):
                if other.job_id not in wait.ahead:
                    wait.ahead.add(other.job_id)
                    slots = other.node_count * (other.tasks or 1)
                    wait.limit += slots * (step + spare)
            if sum(role.maximum for role in roles) < job.node_count:
                continue
            # Below the minimum OneFlow comes first in mode direct, and the step after it is its own.
            growable = any(
                is_direct * role.minimum <= world.role_of(role.name)["cardinality"] < role.maximum for role in roles
            )
            if is_direct:
                able = now > world.portal.hindered_until
            else:
                able = any(self.is_able(worker) for role in roles for worker in world.listed_workers(role.name))
            if not able or not evaluates:
                wait.waited = 0.0
            elif growable and world.service.state == ServiceState.RUNNING:
                wait.waited += passed
                if wait.waited > wait.limit >= 0:
                    self.violate(LATE, f"job {job.job_id} ({job.reason}) waits {wait.waited:.0f} s of {wait.limit:.0f}")
                    wait.limit = float("inf")
        self._waits = waits

    def _judge_drained(self, counted: list[JobRecord], passed: float) -> None:
        world = self.world
        waited = {}
        for worker in world.all_workers():
            record = world.slurm.nodes.get(worker.name)
            if record is None or not (record.is_drained and is_ours(record.reason)):
                continue
            role = world.role_of(worker.role_name)
            shrinks = role["cardinality"] < len(role["nodes"])
            if (
                shrinks
                or not self.is_able(worker)
                or record.is_down
                or record.is_silent
                or not (world.service.state in FROZEN or any(self._serves(record, job) for job in counted))
                or not self._is_judged(worker)
            ):
                continue
            waited[worker.name] = seconds = self._drained_waits.get(worker.name, 0.0) + passed
            if RETURN_SECONDS + SPARE_SECONDS < seconds <= RETURN_SECONDS + SPARE_SECONDS + passed:
                self.violate(UNRETURNED, f"{worker.name} after {seconds:.0f} s in {world.service.state.name}")
        self._drained_waits = waited

    def _judge_frozen(self, passed: float) -> None:
        """The portal names a frozen service within two ticks."""
        world = self.world
        portal = world.portal
        if world.service.state not in FROZEN or world.clock.now() < portal.hindered_until or not world.slurm.is_up:
            self._frozen_seconds = 0.0
            return
        before = self._frozen_seconds
        self._frozen_seconds += passed
        if before <= 2 * TICK_SECONDS < self._frozen_seconds and not world.cloud.vms.get(portal.vm_id).attribute(
            "ERROR"
        ):
            self.violate(UNSAID, world.service.state.name)

    def _judge_idle(self, role: RoleSettings, counted: list[JobRecord], passed: float) -> None:
        """The time that a pool above its minimum stands with an idle worker that may go."""
        world = self.world
        settings = world.settings
        body = world.role_of(role.name)
        workers = world.listed_workers(role.name)
        records = [world.slurm.nodes.get(worker.name) for worker in workers]
        key = (body["cardinality"], tuple(worker.name for worker in workers))
        is_direct = settings.mode == DIRECT
        candidates = records if is_direct else records[:1]
        # a job may have started right before a drain: such a worker neither serves as one of the minimum nor goes
        untouched = sum(
            record is not None and _is_free_of_others(record) and not (record.is_drained and record.jobs)
            for record in records
        )
        idle = [record for record in candidates if record is not None and _is_idle(record)]
        may_shrink = (
            idle
            and (
                world.service.state == ServiceState.RUNNING
                or (world.service.state == ServiceState.COOLDOWN and not is_direct)
            )
            and untouched > role.minimum
            and body["cardinality"] == len(workers) > role.minimum
            and all(record is not None and not record.is_down and not record.is_silent for record in records)
            and all(self._is_judged(worker) for worker in workers)
            and world.clock.now() > self.autoscaler_off_until
            and not any(fits(job, role) for job in counted)
            and not any(job.wanted_node in key[1] for job in world.slurm.jobs.values() if job.state == PENDING)
        )
        key = (*key, tuple(record.name for record in idle), self.undrained_at)
        if not may_shrink or key != self._idle_key.get(role.name):
            self._idle[role.name] = 0.0
            self._idle_key[role.name] = key
            return
        reading = max(60, settings.interval_seconds) + settings.acting_delay_seconds
        if is_direct:
            acted = 3 * TICK_SECONDS
        else:
            acted = 2 * (reading + settings.interval_seconds) + settings.down_cooldown_seconds
        limit = settings.idle_seconds + 2 * TICK_SECONDS + acted + SPARE_SECONDS
        before = self._idle.get(role.name, 0.0)
        self._idle[role.name] = before + passed
        if before <= limit < before + passed:
            self.violate(UNSHRUNK, f"{role.name} stays at {len(workers)} of at least {role.minimum}")

    def _picture(self) -> None:
        world = self.world
        jobs = world.slurm.jobs.values()
        self.samples.append(
            Sample(
                world.seconds,
                sum(job.tasks or 1 for job in jobs if job.state == PENDING),
                sum(job.state == RUNNING for job in jobs),
                tuple((worker.name, _stand(world.slurm.nodes.get(worker.name))) for worker in world.all_workers()),
                world.service.state.name,
            )
        )


def _stand(record: NodeRecord | None) -> str:
    if record is None:
        return "boot"
    if record.is_down or record.is_silent:
        return "lost"
    if record.is_drained:
        if not is_ours(record.reason):
            return "theirs"
        return "returning" if record.reason.endswith(":returning") else "ours"
    return "busy" if record.jobs else "idle"


def fits(job: JobRecord, role: RoleSettings) -> bool:
    """An empty worker of the role can take the job, or its share of it."""
    return (
        job.cpus_per_node <= role.cpus
        and (job.memory_per_node or 0) <= role.memory_mib
        and (not job.feature or job.feature == role.name)
    )


def _is_idle(record: NodeRecord) -> bool:
    return not record.jobs and _is_free_of_others(record)


def _is_free_of_others(record: NodeRecord) -> bool:
    return (not record.is_drained and not record.reason) or is_ours(record.reason)
