# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for a tree that does not run: what they see, and that nothing of them stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab.errors import LabError
from tests.lab.image.chroot import run_for_tree

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="file systems are mounted, which needs root")


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "tree"
    for name in ("proc", "sys", "run", "dev"):
        (path / name).mkdir(parents=True)
    return path


@pytest.fixture
def log(tmp_path):
    return tmp_path / "build.log"


def run_script(tree, log, script, timeout_seconds=30):
    run_for_tree(tree, ["sh", "-c", script], timeout_seconds, log)


def runs(argument):
    """Whether any process of the machine has this argument."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument.encode() in path.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def test_the_tree_has_its_kernel_file_systems_only_meanwhile(tree, log):
    checks = (
        'test -e "$TREE/proc/self/status"',
        'test -e "$TREE/sys/class"',
        'test -w "$TREE/dev/null"',
        'test -c "$TREE/dev/ptmx"',
        '! mkdir "$TREE/sys/fs/cgroup/x"',
        'touch "$TREE/run/x"',
    )
    run_script(tree, log, " && ".join(checks))
    assert str(tree) not in Path("/proc/mounts").read_text()
    assert sorted(path.name for path in tree.rglob("*")) == ["dev", "proc", "run", "sys"]


def test_a_failure_is_reported_with_the_last_lines(tree, log):
    with pytest.raises(LabError, match=r"ended with 3\. Last lines of(.|\n)*no such package"):
        run_script(tree, log, "echo no such package >&2; exit 3")


def test_a_daemon_ends_with_the_command(tree, log):
    run_script(tree, log, "sh -c 'exec sleep 4321.5' & echo started")
    assert "started" in log.read_text()
    assert not runs("4321.5")


def test_a_command_that_hangs_is_ended_with_all_its_processes(tree, log):
    with pytest.raises(LabError, match=r"did not end within 0\.5 s"):
        run_script(tree, log, "sleep 4321.6 & sleep 4321.6", timeout_seconds=0.5)
    assert not runs("4321.6")
