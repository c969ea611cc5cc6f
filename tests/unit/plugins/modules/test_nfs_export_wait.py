# SPDX-License-Identifier: GPL-3.0-or-later
"""nfs_export_wait at its outer door, with an unshare that stands for the trial mount."""

from __future__ import annotations

import os
import socket
import time

import pytest

from tests.unit.plugins.module_process import run_module

EXPORTS = ["/export/home", "/export/slurm"]


@pytest.fixture
def server():
    """Something that takes connections on the NFS port of an address of this machine's own."""
    listener = socket.create_server(("127.0.0.77", 2049))
    yield "127.0.0.77"
    listener.close()


@pytest.fixture
def mount(tmp_path):
    """Writes the program that tries a mount."""

    def write(body):
        program = tmp_path / "unshare"
        program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n{body}\n')
        program.chmod(0o755)
        return {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    return write


def run(server, environment, wait_seconds=0, check_mode=False):
    options = {"server": server, "exports": EXPORTS, "wait_seconds": wait_seconds}
    return run_module("nfs_export_wait", options, check_mode, environment)


@pytest.mark.parametrize("check_mode", [False, True])
def test_exports_that_mount(server, mount, tmp_path, check_mode):
    done = run(server, mount("exit 0"), check_mode=check_mode)
    assert (done.exit_code, done.result["changed"]) == (0, False)
    assert done.result["exports"] == [f"{server}:{export}" for export in EXPORTS]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[-2] for call in calls] == done.result["exports"]
    assert all(call.startswith("--mount mount -t nfs4 -o ro,soft,") for call in calls)


def test_export_that_comes_late_is_waited_for(server, mount, tmp_path):
    late = mount(f"[ $(wc -l < {tmp_path}/calls) -gt 1 ] || {{ echo 'mount.nfs4: access denied' >&2; exit 32; }}")
    assert run(server, late, wait_seconds=20).exit_code == 0


def test_export_that_never_comes_is_named(server, mount):
    refused = "case $* in */export/slurm*) echo 'mount.nfs4: access denied by server' >&2; exit 32;; esac"
    begin = time.monotonic()
    done = run(server, mount(refused), wait_seconds=2)
    assert time.monotonic() - begin < 20
    assert done.failed
    assert done.result["msg"] == (
        f"{server}:/export/slurm does not mount: access denied by server. Waited 2 s. On the storage host see "
        "'exportfs -s' and journalctl -u onehpc-first-boot."
    )


def test_server_that_takes_no_connection_is_named(mount):
    done = run("127.0.0.78", mount("exit 0"))
    assert done.failed
    assert "127.0.0.78 takes no connection on TCP port 2049 (NFS): Connection refused" in done.result["msg"]
