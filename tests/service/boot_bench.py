# SPDX-License-Identifier: GPL-3.0-or-later
"""A host of the service whose first boot is made to fail: as after a power-on, with short waits."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass

from tests.service.service import Service

ONE_ENV = "/run/one-context/one_env"
SITE_FILE = "/etc/onehpc/inventory/bench.yml"
COLLECTION = "/opt/onehpc/collections/ansible_collections/onehpc/ondemand"
ATTEMPT_SECONDS = 660
WAITS = {
    "context-seconds": 2,
    "onegate-seconds": 6,
    "pull-seconds": 60,
    "playbook-seconds": 600,
}
# Every wait of a role that a fault here reaches.
ROLE_WAITS = {
    "worker_mount_wait_seconds": 5,
    "worker_key_wait_seconds": 5,
    "worker_controller_wait_seconds": 5,
    "worker_registration_wait_seconds": 10,
}
# As its unit calls it; whatever is left of it ends with it, and it is not tried again.
LAUNCHER = (
    "systemd-run --quiet --collect --wait --pipe --setenv HOME=/root --setenv LANG=C.UTF-8 /usr/lib/onehpc/first-boot"
)
FORGET = "rm -f /run/onehpc/ready_withdrawn /run/onehpc/first_boot_finished /run/onehpc/onegate_endpoint"


@dataclass(frozen=True)
class Attempt:
    """status: of the launcher; lines: of the log, in order; seconds: how long it took."""

    status: int
    lines: list[str]
    seconds: float


class BootBench:
    """One VM of a running service. `leave` brings back what `__init__` and the faults have changed."""

    def __init__(self, service: Service, role: str) -> None:
        self.service = service
        self.client = service.client
        self.role = role
        self.vm_id = service.single(role)
        self.run(f"cp --preserve {ONE_ENV} {ONE_ENV}.kept")
        self.set_waits()
        self.set_variables()

    def run(self, command: str, **options) -> str:
        """What a shell command prints on the host."""
        return self.service.run(self.vm_id, command, **options).stdout

    def attempt(self) -> Attempt:
        """One attempt of the first boot, as after a power-on."""
        self.run(FORGET)
        return self.later_attempt()

    def later_attempt(self) -> Attempt:
        """One attempt of the first boot, as when somebody restarts its unit."""
        options = [f"--{name}={value}" for name, value in self.waits.items()]
        begin = time.monotonic()
        done = self.service.run(
            self.vm_id, " ".join([LAUNCHER, *options]), timeout_seconds=ATTEMPT_SECONDS, check=False
        )
        return Attempt(done.returncode, done.stdout.splitlines(), time.monotonic() - begin)

    def published(self) -> dict[str, str]:
        """The attributes of the VM."""
        return self.client.vm(self.vm_id)["USER_TEMPLATE"]

    def set_waits(self, **seconds: float) -> None:
        """Call the launcher with short waits; those given replace the bench's own (context_seconds=...)."""
        self.waits = {**WAITS, **{name.replace("_", "-"): value for name, value in seconds.items()}}

    def set_variables(self, **variables: object) -> None:
        """Let the site's inventory set role variables besides the short waits."""
        lines = [f"    {name}: {value}\n" for name, value in {**ROLE_WAITS, **variables}.items()]
        self.write(SITE_FILE, "all:\n  vars:\n" + "".join(lines))

    def set_context(self, **values: str) -> None:
        """Let the context have other values of these variables, at the end of its file."""
        lines = [f'export {name}="{value}"\n' for name, value in values.items()]
        self.run(f"cp --preserve {ONE_ENV}.kept {ONE_ENV}; cat >> {ONE_ENV}", input="".join(lines))

    def write(self, path: str, text: str) -> None:
        """Write a file on the host."""
        self.run(f"mkdir -p $(dirname {shlex.quote(path)}); cat > {shlex.quote(path)}", input=text)

    def mend(self) -> None:
        """What every fault may have broken is as before."""
        self.client.clear_faults()
        self.client.set_date("onegate", None)
        self.run(f"rm -rf {ONE_ENV}; cp --preserve {ONE_ENV}.kept {ONE_ENV}")
        self.set_waits()
        self.set_variables()

    def leave(self) -> None:
        """The host is as the bench found it."""
        self.mend()
        self.run(f"rm -f {SITE_FILE} {ONE_ENV}.kept")
