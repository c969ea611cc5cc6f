# SPDX-License-Identifier: GPL-3.0-or-later
"""A host of the service whose first boot is made to fail: as after a power-on, with short waits."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass

from tests.service.service import Service

UNIT = "onehpc-first-boot.service"
ONE_ENV = "/run/one-context/one_env"
SITE_FILE = "/etc/onehpc/inventory/bench.yml"
DROP_IN = f"/run/systemd/system/{UNIT}.d/bench.conf"
COLLECTION = "/opt/onehpc/collections/ansible_collections/onehpc/ondemand"
ATTEMPT_SECONDS = 280
WAITS = {
    "context-seconds": 2,
    "onegate-seconds": 6,
    "pull-seconds": 60,
    "playbook-seconds": 240,
}
# Every wait of a role that a fault here reaches.
ROLE_WAITS = {
    "worker_mount_wait_seconds": 5,
    "worker_key_wait_seconds": 5,
    "worker_controller_wait_seconds": 5,
    "worker_registration_wait_seconds": 10,
}
# The log from here on; the unit is stopped after its attempt, else it would try again.
ATTEMPT = f"""
cursor=$(journalctl --lines 0 --show-cursor | sed -n 's/^-- cursor: //p')
systemctl restart {UNIT}; status=$?
[ $status = 0 ] || systemctl stop {UNIT}
journalctl --sync
journalctl --unit {UNIT} --output cat --no-pager --after-cursor "$cursor" _TRANSPORT=stdout
exit $status
"""


@dataclass(frozen=True)
class Attempt:
    """status: of systemctl; lines: of the log, in order; seconds: how long it took."""

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
        self.run("rm -f /run/onehpc/ready_withdrawn /run/onehpc/first_boot_finished /run/onehpc/onegate_endpoint")
        begin = time.monotonic()
        done = self.service.run(self.vm_id, ATTEMPT, timeout_seconds=ATTEMPT_SECONDS, check=False)
        return Attempt(done.returncode, done.stdout.splitlines(), time.monotonic() - begin)

    def published(self) -> dict[str, str]:
        """The attributes of the VM."""
        return self.client.vm(self.vm_id)["USER_TEMPLATE"]

    def set_waits(self, **seconds: float) -> None:
        """Call the launcher with short waits; those given replace the bench's own (context_seconds=...)."""
        waits = {**WAITS, **{name.replace("_", "-"): value for name, value in seconds.items()}}
        options = " ".join(f"--{name}={value}" for name, value in waits.items())
        text = f"[Service]\nExecStart=\nExecStart=/usr/lib/onehpc/first-boot {options}\n"
        self.write(DROP_IN, text)
        self.run("systemctl daemon-reload")

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
        self.run(f"rm -f {DROP_IN} {SITE_FILE} {ONE_ENV}.kept; systemctl daemon-reload")
