# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker's health, and the child that looks at file systems: it may hang, and there is never a second one."""

from __future__ import annotations

import getpass
import os
import subprocess
import threading
import time

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import pool_file_probe
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_file_probe import FileProbe
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import Health, ProbeOutcome, judge_health
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health_probes import is_home_mounted

HANGS = "import sys, time; print(sys.argv[1], flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ("outcomes", "health"),
    [
        ([], Health(False, "Not healthy: nothing was probed.")),
        ([ProbeOutcome("munge"), ProbeOutcome("slurmd")], Health(True, "")),
        ([ProbeOutcome("munge", "expired"), ProbeOutcome("slurmd")], Health(False, "Not healthy: munge: expired.")),
        ([ProbeOutcome("a", "x."), ProbeOutcome("b", "y")], Health(False, "Not healthy: a: x; b: y.")),
    ],
)
def test_judgement(outcomes, health):
    assert judge_health(outcomes) == health


@pytest.mark.parametrize(
    ("lines", "mounted"),
    [
        (["10.0.0.1:/export/home /home nfs4 rw,hard 0 0"], True),
        (["10.0.0.1:/export/home /home nfs rw 0 0"], False),
        (["/dev/vda1 / ext4 rw 0 0"], False),
        (["10.0.0.1:/export/home /home2 nfs4 rw 0 0", "/home /mnt nfs4 rw 0 0"], False),
        (["10.0.0.1:/export/home /home nfs4 rw 0 0", "tmpfs /home tmpfs rw 0 0"], False),
        ([], False),
    ],
)
def test_the_home_mount(lines, mounted):
    assert is_home_mounted("\n".join([*lines, ""]), "/home") is mounted


@pytest.fixture
def run_path(tmp_path):
    return str(tmp_path / "run" / "probe")


def look(run_path, *paths, seconds=20.0, program=pool_file_probe.PROGRAM):
    return FileProbe(paths, getpass.getuser(), run_path, program).outcome(seconds)


def test_directories_that_answer(run_path, tmp_path):
    assert look(run_path, str(tmp_path), "/") == ProbeOutcome(f"{tmp_path} and /")


def test_the_first_directory_that_does_not_is_named(run_path, tmp_path):
    missing = str(tmp_path / "missing")
    assert look(run_path, "/", missing, str(tmp_path)) == ProbeOutcome(missing, "No such file or directory")
    (tmp_path / "file").write_text("")
    assert look(run_path, str(tmp_path / "file")).failure == "Not a directory"


def test_a_child_that_ends_otherwise(run_path):
    assert look(run_path, "/x", program="raise SystemExit(3)").failure == "the look at it ended with 3"


def test_a_look_that_hangs_is_ended_and_the_next_one_starts_anew(run_path):
    started = time.monotonic()
    assert look(run_path, "/x", seconds=0.5, program=HANGS) == ProbeOutcome("/x", "it does not answer within 0 s")
    assert time.monotonic() - started < 10
    assert look(run_path, "/").failure == ""


def test_a_child_that_cannot_be_ended_stays_the_only_one(run_path, monkeypatch):
    """As one that waits for a file server in the kernel: signals do not reach it."""
    started = []

    class Child(subprocess.Popen):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            started.append(self)

    monkeypatch.setattr(pool_file_probe.subprocess, "Popen", Child)
    monkeypatch.setattr(pool_file_probe, "KILLED_CHILD_SECONDS", 0.1)
    monkeypatch.setattr(pool_file_probe, "OTHER_LOOK_SECONDS", 0.1)
    real_killpg = os.killpg
    monkeypatch.setattr(pool_file_probe.os, "killpg", lambda *_arguments: None)
    assert "does not answer" in look(run_path, "/x", seconds=0.5, program=HANGS).failure
    for _tick in range(20):
        outcome = look(run_path, "/")
        assert (outcome.subject, outcome.failure[:24]) == ("/x", "a look at it hangs since")
    assert len(started) == 1
    real_killpg(started[0].pid, 9)
    started[0].wait(10)
    assert look(run_path, "/").failure == ""
    assert len(started) == 2


def test_two_looks_at_a_time_are_made_one_after_the_other(run_path, monkeypatch):
    """As a tick's and that of a run by hand."""
    monkeypatch.setattr(pool_file_probe, "OTHER_LOOK_SECONDS", 20.0)
    first = FileProbe(["/"], getpass.getuser(), run_path, "import time; time.sleep(1); print('/')")
    threading.Timer(0.2, first.outcome, [20.0]).start()
    assert look(run_path, "/") == ProbeOutcome("/")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses the account of a child")
def test_the_child_has_no_rights(run_path):
    program = "import os; print(os.getuid() != 0 and os.getgid() != 0 and os.getgroups())"
    assert FileProbe(["/"], "nobody", run_path, program).outcome(20.0) == ProbeOutcome("[]")
