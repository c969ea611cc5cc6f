# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host lets be seen while its playbooks run as talkative as they can: outputs, journal, logs, files, processes.

A canary is leaked on purpose at every place, so that a place that is not really looked at is noticed.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import shlex
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.service.service import Service

PLACES = ("outputs", "journal", "logs", "readable files", "arguments", "environments")
READABLE_DIRS = ("etc", "run", "tmp", "var/lib/onehpc", "var/log", "var/tmp")
WATCHED_RUN = Path(__file__).with_name("watched_run.py")
RUNS_SECONDS = 500
READ_SECONDS = 120
PLAY = "ANSIBLE_CONFIG=/etc/onehpc/ansible.cfg /opt/onehpc/venv/bin/ansible-playbook -vvv --diff onehpc.ondemand."

# A file that is as it should be shows no diff.
SECRET_FILES = "/etc/munge/munge.key /etc/slurm/slurmdbd.conf"
SPOIL = f"for file in {SECRET_FILES}; do [ ! -e $file ] || echo >>$file; done"

CANARY_FILE = "/var/tmp/canary"
CANARY_UNIT = "canary"
LEAK = f"""
set -e
umask 022
cat >{CANARY_FILE}
install -m 0600 {CANARY_FILE} /var/log/canary.log
systemd-cat cat {CANARY_FILE}
systemd-run --quiet --unit {CANARY_UNIT} --uid nobody sh -c '
    canary=$(cat {CANARY_FILE})
    CANARY=$canary exec python3 -c "import time; time.sleep({RUNS_SECONDS})" "$canary"'
"""
STOP_LEAK = f"systemctl stop {CANARY_UNIT}; rm -f {CANARY_FILE} /var/log/canary.log"


@dataclass(frozen=True)
class Observation:
    """exit_codes: of each run, by its name. places: of each of PLACES what was there, by its name."""

    exit_codes: Mapping[str, int]
    places: Mapping[str, Mapping[str, bytes]]


def observe(service: Service, role: str, canary: bytes) -> Observation:
    """Run the playbooks of the role's only host and read all places there. LabError when they cannot be read."""
    vm_id = service.single(role)
    service.run(vm_id, LEAK, input=base64.b64encode(b"x" + canary).decode())
    try:
        commands = runs(role)
        words = shlex.join(["python3", "-", *commands.values()])
        seen = json.loads(
            service.run(vm_id, words, input=WATCHED_RUN.read_text(), timeout_seconds=RUNS_SECONDS + 60).stdout
        )
        ended = dict(zip(commands, seen["outputs"], strict=True))
        journal = service.run(
            vm_id, "journalctl --no-pager --output export | gzip | base64", timeout_seconds=READ_SECONDS
        ).stdout
        return Observation(
            exit_codes={name: run["code"] for name, run in ended.items()},
            places={
                "outputs": {name: base64.b64decode(run["output"]) for name, run in ended.items()},
                "journal": {"journal": gzip.decompress(base64.b64decode(journal))},
                "logs": _files(service, vm_id, "", ("var/log",)),
                "readable files": _files(service, vm_id, "runuser -u nobody -- ", READABLE_DIRS),
                "arguments": _numbered(seen["arguments"]),
                "environments": _numbered(seen["environments"]),
            },
        )
    finally:
        service.run(vm_id, STOP_LEAK, check=False)


def runs(role: str) -> dict[str, str]:
    """Name and shell command of everything that is run on a host of the role, in order."""
    commands = {
        "canary": f"cat {CANARY_FILE}",
        # Its tick is run by hand; the first boot starts it again.
        "stop the timer": f"systemctl stop onehpc-reconcile-{role}.timer",
        "spoil": SPOIL,
        "first_boot": PLAY + "first_boot",
        "tick": f"{PLAY}reconcile_{role}",
    }
    if role == "worker":
        commands["leave_pool"] = f"{PLAY}leave_pool --check"
    return commands


def _files(service: Service, vm_id: int, prefix: str, directories: tuple[str, ...]) -> dict[str, bytes]:
    """Path and content of each file below that may be read; what may not, or is gone meanwhile, is left out."""
    tar = f"{prefix}tar --create --gzip --ignore-failed-read --directory / {shlex.join(directories)}"
    packed = base64.b64decode(service.run(vm_id, f"{tar} 2>/dev/null | base64", timeout_seconds=READ_SECONDS).stdout)
    found = {}
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream:
                found[member.name] = stream.read()
    return found


def _numbered(contents: list[str]) -> dict[str, bytes]:
    return {f"process {number}": base64.b64decode(content) for number, content in enumerate(contents)}
