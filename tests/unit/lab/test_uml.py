# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line and process identity of a guest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.errors import LabError
from tests.lab.uml import NetworkCard, kernel_arguments, processes_of, started_at


def arguments(image="/cache/image.ext4", sockets="/dev/shm/onehpc-1"):
    cards = [NetworkCard("management-1", "02:00:0a:42:00:0d"), NetworkCard("compute-1", "02:00:0a:4d:00:0d")]
    return kernel_arguments("onehpc-1-1", Path(sockets), Path(image), 1536, cards)


def test_guest_gets_its_disks_memory_and_cards():
    line = arguments()
    assert "umid=onehpc-1-1" in line
    assert "uml_dir=/dev/shm/onehpc-1/" in line
    assert "mem=1536M" in line
    assert "ubd0=disk.cow,/cache/image.ext4" in line
    assert "ubd1=context.img" in line
    assert "vec0:transport=tap,ifname=management-1,mac=02:00:0a:42:00:0d" in line
    assert "vec1:transport=tap,ifname=compute-1,mac=02:00:0a:4d:00:0d" in line


@pytest.mark.parametrize("path", ["/cache/a:b.ext4", "/cache/a,b.ext4", "/my cache/a.ext4"])
def test_a_path_that_would_be_read_as_something_else_is_refused(path):
    with pytest.raises(LabError, match="cannot be said"):
        arguments(image=path)


def test_a_process_is_known_by_its_id_and_start_also_after_exec():
    process = subprocess.Popen(["sh", "-c", "read go; exec sleep 60"], stdin=subprocess.PIPE)
    try:
        before = started_at(process.pid)
        assert before is not None
        process.stdin.write(b"\n")
        process.stdin.close()
        while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
            pass
        assert started_at(process.pid) == before
        assert started_at(os.getpid()) != before
        process.kill()
        # A zombie until it is waited for.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert started_at(process.pid) is None
    finally:
        process.kill()
        process.wait()
    assert started_at(process.pid) is None


def test_processes_of_a_guest_carry_its_umid_in_whatever_group_they_are():
    script = (
        "import subprocess, sys; own = [sys.executable, '-c', 'import sys; sys.stdin.read()', 'umid=test-lab-a'];"
        "subprocess.Popen(own, start_new_session=True); print(1); sys.stdin.read()"
    )
    leader = subprocess.Popen(
        [sys.executable, "-uc", script, "umid=test-lab-a"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        leader.stdout.readline()
        found = processes_of("test-lab-a", set())
        assert found[leader.pid] == leader.pid
        (helper,) = set(found) - {leader.pid}
        assert found[helper] == helper
        assert processes_of("b", {leader.pid}) == {}
    finally:
        leader.communicate(b"\n", timeout=10)
