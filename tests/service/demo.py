# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: `python -m tests.service.demo run [--keep]`, and `... down` for what --keep left running.

Runs the whole service on this machine, lets a job wait for a second worker, lets the idle one go, and ends with a
timeline. Exits 0 only when every claim held.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.checks.environment import ROOT
from tests.lab.image.build import build_image
from tests.lab.lab import LabError
from tests.opennebula.client import ClientError
from tests.service.claims import CLAIMS
from tests.service.progress import Progress, ServiceError
from tests.service.run_directory import new_run_directory
from tests.service.service import USER, Service, host_name, take_down
from tests.service.story_timeline import entries, steps
from tests.service.teller import Teller
from tests.service.timeline import missing, render

# Where demo-down finds what demo-keep left.
POINTER = ROOT / ".cache" / "demo.json"
LOGS = ROOT / ".cache" / "demo.log"
# Besides what the size of the lab's hosts asks for: workers count as idle sooner. OneFlow's rules keep their numbers.
INPUTS = {"ONEAPP_WORKER_IDLE_SECONDS": "30"}


def run(keep: bool, inputs: dict[str, str]) -> int:
    """The whole demo; the exit code."""
    running = running_directory()
    if running:
        print(f"a demo still runs in {running}; end it by `make demo-down`", file=sys.stderr)
        return 2
    progress = Progress()
    image = build_image(progress.tell)
    with run_directory(keep) as directory:
        service = Service.create(directory, image, inputs={**INPUTS, **inputs}, progress=progress)
        try:
            service.wait_running()
            story = Teller(service).tell()
        except ServiceError:
            LOGS.write_text(service.logs(lines=1000))
            print(f"logs of all hosts: {LOGS}", file=sys.stderr)
            if keep:
                print("\n".join(how_to_look_around(service)), file=sys.stderr)
            raise
        good = report(story)
        if keep:
            print("\n".join(how_to_look_around(service)))
    progress.tell("the service stays up; end it by `make demo-down`" if keep else "the service has ended")
    return 0 if good else 1


def report(story) -> bool:
    """Print timeline and claims; False when one is missing or does not hold."""
    lines = entries(story)
    print("\nTimeline\n" + "\n".join(f"  {line}" for line in render(lines)) + "\n")
    claims = [claim(story) for claim in CLAIMS]
    for claim in claims:
        print(f"  {'yes' if claim.holds else 'NO '}  {claim.sentence}\n       ({claim.evidence})")
    absent = missing(lines, steps(story))
    for step in absent:
        print(f"  NO   the timeline has no line `{step}`")
    print(flush=True)
    return not absent and all(claim.holds for claim in claims)


def how_to_look_around(service: Service) -> Iterator[str]:
    """Lines that tell how to reach each host and where the cloud's log is."""
    lab = f".venv/bin/python -m tests.lab --run-dir {service.lab.run_dir}"
    yield f"Look around, from {ROOT}:"
    for role in service.document()["roles"]:
        for vm_id in service.members(role["name"]):
            yield f"  a shell on {role['name']}, VM {vm_id}: {lab} shell {host_name(vm_id)}"
    yield f"  a job as the user, on the portal: runuser -l {USER} -c 'sbatch --wrap hostname'"
    yield f"  log of the simulated OpenNebula: {service.run_dir / 'opennebula' / 'opennebula.log'}"


@contextmanager
def run_directory(keep: bool) -> Iterator[Path]:
    """A new run directory. What was started in it is taken down at the end, unless it is to be kept."""
    directory = new_run_directory()
    POINTER.write_text(json.dumps({"run_directory": str(directory)}) + "\n")
    try:
        yield directory
    except ServiceError:
        # Who keeps a service wants to see what failed in it.
        if keep:
            print("what runs stays up; end it by `make demo-down`", file=sys.stderr)
        else:
            down()
        raise
    except BaseException:
        down()
        raise
    if not keep:
        down()


def running_directory() -> Path | None:
    """The run directory of a demo of this checkout that has not been taken down."""
    try:
        directory = Path(json.loads(POINTER.read_text())["run_directory"])
    except FileNotFoundError:
        return None
    return directory if directory.exists() else None


def down() -> int:
    """Take down what runs. A second call finds nothing to do."""
    directory = running_directory()
    if directory:
        take_down(directory)
    POINTER.unlink(missing_ok=True)
    return 0


def main(arguments: list[str]) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.service.demo", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="bring the service up, tell the story, end it")
    command.add_argument("--keep", action="store_true", help="leave the service running at the end")
    command.add_argument("--input", action="append", default=[], metavar="NAME=VALUE", help="a service input")
    commands.add_parser("down", help="end the service that --keep left running")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.command == "down":
            return down()
        return run(options.keep, dict(pair.split("=", 1) for pair in options.input))
    except (ServiceError, LabError, ClientError) as error:
        print(f"\nfailed: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
