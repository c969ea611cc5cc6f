# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts that the scenarios share: `python -m tests.scenarios.hosts up | prepare ROLE | down`.

One service on a lab and a simulated OpenNebula, as the demo's, but no host configures itself, except in the pool's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.checks.environment import ROOT
from tests.lab.errors import LabError
from tests.lab.image.build import build_image
from tests.opennebula.client import ClientError
from tests.pool import template
from tests.scenarios.inventory import inventory
from tests.service.progress import Progress, ServiceError
from tests.service.run_directory import new_run_directory
from tests.service.service import INPUTS, Service, take_down

FOLDER = ROOT / ".cache" / "molecule"
INVENTORY = FOLDER / "inventory.yml"
POINTER = FOLDER / "hosts.json"
FIRST_BOOT = "/usr/lib/onehpc/first-boot"
# The scenario whose hosts are all configured before it begins.
BOOT = "boot"
# The scenario that has a service of its own: the hosts of the others have no rules, and one worker.
POOL = "pool"
FIRST_BOOT_SECONDS = 600


def up() -> None:
    """Boot one host for each role and write the inventory; nothing happens when they are there."""
    if not run_directory():
        _boot(_unconfigured)


def _boot(create: Callable[[Path, Path, Progress], Service], scenario: str = "") -> None:
    """Boot the hosts of a service and write their inventory. scenario: the only one that they are for."""
    progress = Progress()
    image = build_image(progress.tell)
    directory = new_run_directory()
    FOLDER.mkdir(parents=True, exist_ok=True)
    _write({"run_directory": str(directory), "used": [], "scenario": scenario})
    try:
        service = create(directory, image, progress)
        INVENTORY.write_text(yaml.safe_dump(inventory(service), sort_keys=False))
    except BaseException:
        down()
        raise
    progress.tell("the hosts answer")


def _unconfigured(directory: Path, image: Path, progress: Progress) -> Service:
    service = Service.create(directory, image, inputs=INPUTS, progress=progress, first_boot=False)
    service.wait_running(120)
    for host in service.lab.hosts():
        service.lab.wait_for_ssh(host.name)
        # Returns when the context is there, also when it is being read already.
        service.lab.run(host.name, "systemctl start one-context.service")
    return service


def _pool(directory: Path, image: Path, progress: Progress) -> Service:
    service = Service.create(
        directory,
        image,
        inputs=template.INPUTS,
        progress=progress,
        template=template.pool_template(),
        autoscaler_seconds=template.AUTOSCALER_SECONDS,
    )
    service.wait_running(template.BOOT_SECONDS)
    service.make_user_home()
    return service


def prepare(role: str) -> None:
    """Give a scenario the host of `role` as it booted, and see to it that what the role relies on serves.

    A host that was used before is replaced, with all others: nothing of them is worth keeping. So is a service that
    is for one scenario alone.
    """
    if POOL in (role, _read().get("scenario")):
        down()
    if role == POOL:
        _boot(_pool, POOL)
        return
    up()
    if role == BOOT:
        service = Service(run_directory())
        configure(service, [each["name"] for each in service.document()["roles"]])
        return
    if role in _read()["used"]:
        down()
        up()
    service = Service(run_directory())
    _write({**_read(), "used": sorted({*_read()["used"], role})})
    configure(service, service.role(role).get("parents", []))


def configure(service: Service, roles: list[str]) -> None:
    """Let the hosts of these roles configure themselves, one after the other, unless they are READY."""
    _write({**_read(), "used": sorted({*_read()["used"], *roles})})
    for role in roles:
        vm_id = service.single(role)
        if service.client.vm(vm_id)["USER_TEMPLATE"].get("READY") != "YES":
            service.progress.tell(f"{role} configures itself")
            service.run(vm_id, FIRST_BOOT, timeout_seconds=FIRST_BOOT_SECONDS)


def down() -> None:
    """End the hosts. A second call finds nothing to do."""
    directory = run_directory()
    if directory:
        take_down(directory)
    for path in (INVENTORY, POINTER):
        path.unlink(missing_ok=True)


def run_directory() -> Path | None:
    """Where the hosts' files are; None when there are no hosts."""
    directory = Path(_read()["run_directory"] or "")
    return directory if directory.name and directory.exists() else None


def _read() -> dict:
    """run_directory, scenario, and as `used` the roles whose host was given to a scenario or has configured itself."""
    try:
        return json.loads(POINTER.read_text())
    except FileNotFoundError:
        return {"run_directory": None, "used": [], "scenario": ""}


def _write(state: dict) -> None:
    POINTER.write_text(json.dumps(state) + "\n")


def main(arguments: list[str]) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.hosts", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="boot one host for each role, none configured")
    commands.add_parser("prepare", help="give one role a fresh host and what it relies on").add_argument("role")
    commands.add_parser("down", help="end the hosts")
    options = parser.parse_args(arguments)
    try:
        if options.command == "up":
            up()
        elif options.command == "prepare":
            prepare(options.role)
        else:
            down()
    except (ServiceError, LabError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
