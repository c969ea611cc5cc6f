# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests do to a running pool, and what they read of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.pool.template import BIG, WORKER
from tests.service.cluster import node_name
from tests.service.held_jobs import HeldJobs
from tests.service.progress import NotYet
from tests.service.service import Service

# A tick that the timer began before is let end, so that the one that is run has seen what the test did.
TICK = """
until [ "$(systemctl show --property ActiveState --value {unit})" != activating ]; do sleep 0.1; done
systemctl start {unit}; status=$?
journalctl --no-pager --output cat _SYSTEMD_INVOCATION_ID="$(systemctl show --property InvocationID --value {unit})"
exit $status
"""
TICK_SECONDS = 60

# As Ansible's own callback shows a task that failed, or in a line of the journal.
_FAILURE = re.compile(r"""(?:FAILED! => .*"msg": "|: failed: )([^"\n]*)""")


@dataclass(frozen=True)
class Tick:
    """One run of a reconcile unit: whether it ended well, what it wrote into the journal, and how long it took."""

    succeeded: bool
    output: str
    seconds: float

    @property
    def said(self) -> str:
        """What it wrote, in one line."""
        return " ".join(self.output.split())

    @property
    def failures(self) -> list[str]:
        """The sentences with which it failed."""
        return _FAILURE.findall(self.output)


class PoolBench:
    """One running service with worker roles. Workers are VM ids, oldest first."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.client = service.client
        self.cluster = service.cluster
        self.progress = service.progress
        self.jobs = HeldJobs(service.cluster, service.progress)
        self.portal = service.single("portal")

    def workers(self, *roles: str) -> list[int]:
        """The workers of these roles, of both when none is named."""
        return [vm_id for role in roles or (WORKER, BIG) for vm_id in self.service.members(role)]

    # -- ticks ----------------------------------------------------------------------------------------------------

    def tick(self, vm_id: int) -> Tick:
        """Run the tick of a worker or the portal now, by its unit."""
        role = "portal" if vm_id == self.portal else "worker"
        begin = time.monotonic()
        command = TICK.format(unit=f"onehpc-reconcile-{role}.service")
        done = self.service.run(vm_id, command, timeout_seconds=TICK_SECONDS, check=False)
        return Tick(done.returncode == 0, done.stdout, time.monotonic() - begin)

    def ticks(self, vm_ids: Iterable[int]) -> dict[int, Tick]:
        """Run the ticks of several VMs at the same time."""
        vm_ids = list(vm_ids)
        with ThreadPoolExecutor(len(vm_ids)) as executor:
            return dict(zip(vm_ids, executor.map(self.tick, vm_ids), strict=True))

    # -- readings -------------------------------------------------------------------------------------------------

    def figures(self, vm_id: int) -> dict[str, str]:
        """What the VM has published."""
        return self.client.vm(vm_id)["USER_TEMPLATE"]

    def node(self, vm_id: int) -> dict[str, str]:
        """The worker's node; {} when it is not registered."""
        return self.cluster.nodes().get(node_name(vm_id), {})

    def reason(self, vm_id: int) -> str:
        """Why the worker's node is drained, without who drained it and when; "" when it is not."""
        node = self.node(vm_id)
        return re.sub(r" \[[^\]]*\]$", "", node.get("Reason", "")) if "DRAIN" in node.get("State", "") else ""

    def events(self, since: int, *kinds: str, role: str | None = None) -> list[dict]:
        """The service's events of these kinds, and of this role, after the one numbered `since`."""
        own = [event for event in self.client.events(since) if event["service"] == self.service.service_id]
        return [event for event in own if event["kind"] in kinds and role in (None, event["role"])]

    def last_event(self) -> int:
        """Number of the latest event."""
        return self.client.events()[-1]["seq"]

    # -- waiting --------------------------------------------------------------------------------------------------

    def wait_reason(self, vm_id: int, reason: str, timeout_seconds: float = 120) -> None:
        """Wait until the worker's node is drained with that reason, "" for not drained."""

        def read() -> bool:
            found = self.reason(vm_id)
            if found == reason:
                return True
            raise NotYet(f"{self.node(vm_id).get('State', 'not registered')} {found}")

        self.progress.wait_for(
            f"{node_name(vm_id)} to have the reason '{reason}'", read, timeout_seconds=timeout_seconds
        )

    def wait_healthy(self, vm_id: int) -> None:
        """Run the worker's ticks until it says that it is healthy: on a busy machine a probe may be late."""

        def read() -> bool:
            tick = self.tick(vm_id)
            if self.figures(vm_id)["HEALTHY"] == "1":
                return True
            raise NotYet(tick.said)

        self.progress.wait_for(f"{node_name(vm_id)} to be healthy", read, timeout_seconds=120)

    def wait_pending(self, job_id: int) -> None:
        """Wait until the job waits because no node is free."""

        def read() -> bool:
            job = self.cluster.job(job_id)
            if job["JobState"] == "PENDING" and job["Reason"] in ("Resources", "Priority"):
                return True
            raise NotYet(f"{job['JobState']} ({job['Reason']})")

        self.progress.wait_for(f"job {job_id} to wait for a node", read, timeout_seconds=60)

    def wait_size(self, role: str, number: int, timeout_seconds: float = 300) -> None:
        """Wait until the role lists so many VMs."""

        def read() -> bool:
            listed = self.workers(role)
            if len(listed) == number:
                return True
            raise NotYet(f"{listed}, the service is {self.service.state().name}")

        self.progress.wait_for(f"role {role} to have {number} VMs", read, timeout_seconds=timeout_seconds)

    def wait_without_node(self, vm_id: int, timeout_seconds: float = 240) -> None:
        """Wait until the worker's node is deleted."""

        def read() -> bool:
            node = self.node(vm_id)
            if node:
                raise NotYet(node["State"])
            return True

        self.progress.wait_for(f"{node_name(vm_id)} to be deleted", read, timeout_seconds=timeout_seconds)
