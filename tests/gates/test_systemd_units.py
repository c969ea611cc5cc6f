# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd's own check of every unit, timer and drop-in that the roles write. No systemd has to run for it."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.checks.environment import ROOT
from tests.gates.command import output_of
from tests.gates.rendered_units import rendered_units

# In a mount namespace of its own: the rendered units in their place.
VERIFY = """
set -e
mount --bind "$1" /etc/systemd/system
shift
exec systemd-analyze verify --man=no --recursive-errors=no "$@"
"""
# What only the image holds, in the folders that are the collection's own there.
OWN_PROGRAM = re.compile(r"(?m)^(Exec\w+=[-+!@:]*)/(?:opt|usr/lib)/onehpc/\S+")
# A drop-in of a unit whose package this machine has not is read with this one.
STAND_IN = "[Service]\nExecStart=/bin/true\n"


def complaints(units, folder):
    """What systemd says about these units (path below the unit folder -> content)."""
    for path, content in units.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(OWN_PROGRAM.sub(r"\1/bin/true", content))
    names = sorted({path.split("/")[0].removesuffix(".d") for path in units})
    for name in names:
        if name not in units and not _is_installed(name):
            (folder / name).write_text(STAND_IN)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", VERIFY, "sh", str(folder), *names],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if any(name in line for name in names)]
    return said or ([] if done.returncode == 0 else [done.stderr])


def _is_installed(name):
    return subprocess.run(["find", "/lib/systemd/system", "-name", name], capture_output=True, check=True).stdout != b""


def test_units(tmp_path, passed):
    (tmp_path / "work").mkdir()
    units = rendered_units(ROOT, tmp_path / "work")
    assert {"onehpc-first-boot.service", "slurmd.service.d/onehpc.conf"} <= set(units)
    assert {"onehpc-tick-runner.socket", "onehpc-tick-runner.service"} <= set(units)
    for role in ("storage", "portal", "worker"):
        assert f"onehpc-reconcile-{role}.timer" in units
    assert complaints(units, tmp_path / "units") == []
    kinds = [path.rpartition(".")[2] for path in units]
    version = re.search(r"systemd (\d+)", output_of(["systemd-analyze", "--version"], tmp_path)).group(1)
    named = {"service": "services", "timer": "timers", "socket": "sockets", "conf": "drop-ins"}
    counted = ", ".join(f"{kinds.count(kind)} {name}" for kind, name in named.items())
    passed("systemd-analyze verify", version, counted)


@pytest.mark.parametrize(
    ("path", "content", "complaint"),
    [
        ("a.service", "[Service]\nExecStart=/bin/true\nRestrat=always\n", "Unknown key 'Restrat'"),
        ("a.service", "[Service]\nExecStart=/usr/bin/no-such-program\n", "no-such-program"),
        ("munge.service.d/a.conf", "[Service]\nRestart=sometimes\n", "Failed to parse"),
        ("nowhere.service.d/a.conf", "[Service]\nTimeoutSec=soon\n", "Failed to parse"),
        ("a.socket", "[Socket]\nListenSequentialPacket=tick.sock\nService=munge.service\n", "Failed to parse"),
        ("a.timer", "[Timer]\nOnActiveSec=often\nUnit=munge.service\n", "Failed to parse"),
    ],
)
def test_wrong_units_are_found(tmp_path, path, content, complaint):
    assert complaint in "\n".join(complaints({path: content}, tmp_path))
