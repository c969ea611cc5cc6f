# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every module: check mode tells what the real run does, and silent systems do not hold it for ever."""

from __future__ import annotations

import base64
import contextlib
import getpass
import grp
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import nfs_export_wait as nfs_trial
from ansible_collections.onehpc.ondemand.plugins.module_utils import slurm_client, state_export_tick
from ansible_collections.onehpc.ondemand.plugins.module_utils.state_export import StateExportError
from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.nfs_server_double import NfsServerDouble
from tests.unit.plugins.onegate_double import TOKEN
from tests.unit.plugins.pool_service import OWN, PoolService

MODULES_DIR = Path(__file__).parents[4] / "plugins" / "modules"
# A process's start and the way out of a wait, on a busy machine.
START_SECONDS = 6


@dataclass
class Case:
    """A module with something to do.

    environment: where its programs are found; changes: whether it can change things; bound_seconds: the time it may
    take with the timeouts given.
    """

    arguments: dict
    environment: dict = field(default_factory=dict)
    changes: bool = True
    bound_seconds: float = 3


class World:
    """All systems that a module may speak with, in one folder."""

    def __init__(self, onegate, connection, folder):
        self.onegate, self.connection, self.folder = onegate, connection, folder
        self.pool = PoolService(onegate, connection, folder)
        (folder / "nfs").mkdir()
        self.nfs = NfsServerDouble(folder / "nfs")
        self.key = folder / "munge.key"
        self.open = contextlib.ExitStack()

    def written(self):
        """What a run could leave behind: files with content and mode, changes asked of Slurm, OneGate and NFS."""
        files = {
            str(path): (path.read_bytes(), path.stat().st_mode)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name not in ("calls", "calls.jsonl")
        }
        slurm = [call for call in self.pool.slurm.calls() if call.split()[1] in ("update", "create", "delete")]
        return files, slurm, self.onegate.calls("PUT"), self.nfs.calls()

    def hang(self):
        """From now on no system answers."""
        self.onegate.fault("silent")
        self.pool.slurm.change(faults={"s": [0, "", "", 60]})
        for name in ("exportfs", "unshare"):
            program = self.folder / "nfs" / name
            program.write_text("#!/bin/sh\nsleep 60\n")
            program.chmod(0o755)


def munge_key(world):
    world.onegate.user_template()["SLURM_MUNGE_KEY"] = base64.b64encode(bytes(range(256)) * 4).decode()
    owner = {"owner": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name}
    return Case({**world.connection, **owner, "path": str(world.key), "wait_seconds": 1, "timeout_seconds": 2})


def nfs_export_wait(world):
    (world.folder / "nfs" / "unshare").write_text("#!/bin/sh\n")
    (world.folder / "nfs" / "unshare").chmod(0o755)
    listener = socket.create_server(("127.0.0.79", 2049))
    world.open.enter_context(listener)
    arguments = {"server": "127.0.0.79", "exports": ["/export/home"], "wait_seconds": 0}
    return Case(arguments, world.nfs.environment, False, nfs_trial.MOUNT_SECONDS)


def onegate_info(world):
    return Case({**world.connection, "timeout_seconds": 2}, changes=False)


def onegate_vm(world):
    attributes = {"READY": "NO", "SLURM_PENDING": 0, "ERROR": ""}
    return Case({**world.connection, "attributes": attributes, "timeout_seconds": 2})


def pool_leave(world):
    world.pool.list_workers(2, 3, 1)
    return Case({**world.connection, "node_name": OWN, "timeout_seconds": 4}, world.pool.slurm.environment, True, 5)


def pool_reconcile(world):
    world.pool.list_workers(1, 3, own_role="portal")
    memory = str(world.pool.memory)
    arguments = {**world.connection, "node_prefix": "w", "memory_path": memory, "timeout_seconds": 4}
    return Case(arguments, world.pool.slurm.environment, True, 5)


def pool_report(world):
    world.pool.list_workers(2, 3, 1)
    own = {**world.pool.report_arguments, "catalogue_path": ""}
    return Case({**world.connection, **own, "timeout_seconds": 6}, world.pool.slurm.environment, True, 7)


def slurm_node(world):
    arguments = {"name": "w1", "state": "drained", "reason": "disk", "timeout_seconds": 2}
    return Case(arguments, world.pool.slurm.environment)


def slurm_registration(world):
    arguments = {"name": "w1", "controller": "10.0.0.5:6817", "wait_seconds": 0}
    return Case(arguments, world.pool.slurm.environment, False, slurm_client.CALL_TIMEOUT_SECONDS)


def state_export(world):
    arguments = {**world.connection, **world.nfs.options, "compute_network": "192.0.2.0/24", "timeout_seconds": 2}
    return Case(arguments, world.nfs.environment)


CASES: dict[str, Callable[[World], Case]] = {
    case.__name__: case
    for case in (
        munge_key, nfs_export_wait, onegate_info, onegate_vm, pool_leave, pool_reconcile, pool_report, slurm_node,
        slurm_registration, state_export,
    )
}  # fmt: skip


@pytest.fixture
def world(onegate, connection, tmp_path):
    world = World(onegate, connection, tmp_path)
    with world.open:
        yield world


def told(run):
    """What a run says, without the ages that depend on the second it ran in."""
    assert TOKEN not in run.output
    result = {name: value for name, value in run.result.items() if name != "invocation"}
    return re.sub(r"(?<='IDLE_SECONDS': )\d+|\d+ s\b", "some s", repr(result))


def test_each_module_has_a_case():
    assert sorted(CASES) == sorted(path.stem for path in MODULES_DIR.glob("*.py"))


@pytest.mark.parametrize("name", CASES)
def test_check_mode_tells_what_the_run_does_and_writes_nothing(world, name):
    case = CASES[name](world)
    files, *_calls = world.written()
    check = run_module(name, case.arguments, True, case.environment)
    assert world.written() == (files, [], [], [])
    real = run_module(name, case.arguments, False, case.environment)
    assert real.exit_code == 0, real.result
    assert real.result["changed"] is case.changes
    assert ("diff" in real.result) is case.changes
    assert told(check) == told(real)
    assert (world.written() != (files, [], [], [])) is case.changes


@pytest.mark.parametrize("name", CASES)
def test_silent_systems_hold_it_no_longer_than_its_time(world, name):
    case = CASES[name](world)
    world.hang()
    begin = time.monotonic()
    run = run_module(name, case.arguments, False, case.environment)
    seconds = time.monotonic() - begin
    assert run.failed
    assert re.search(r"did not (answer in time|end within|mount within)|does not answer|no time", run.result["msg"])
    assert seconds < case.bound_seconds + START_SECONDS, run.result


def test_exportfs_that_hangs_is_ended_with_its_children(world, monkeypatch):
    """OneGate's silence keeps the program from being reached above."""
    case = state_export(world)
    (world.folder / "nfs" / "exportfs").write_text("#!/bin/sh\nsleep 60\n")
    monkeypatch.setenv("PATH", case.environment["PATH"])
    monkeypatch.setattr(state_export_tick, "EXPORTFS_TIMEOUT_SECONDS", 0.5)
    defaults = {name: option.get("default") for name, option in state_export_tick.ARGUMENTS.items()}
    begin = time.monotonic()
    with pytest.raises(StateExportError, match="exportfs -ra did not end within 0.5 s"):
        state_export_tick.run({**defaults, **case.arguments}, False)
    assert time.monotonic() - begin < 0.5 + START_SECONDS
