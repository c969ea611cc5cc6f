# SPDX-License-Identifier: GPL-3.0-or-later
"""Ending the cloud's process ends that process only."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.service import cloud
from tests.service.progress import ServiceError

SLEEPS = "import time; print('up', flush=True); time.sleep(600)"
IGNORES = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"


@pytest.fixture
def start(tmp_path):
    """Starts a process with these arguments and writes its number into the pid file."""
    started = []

    def start(code, *arguments):
        process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "up\n"
        (tmp_path / "opennebula.pid").write_text(f"{process.pid}\n")
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_process_of_this_directory_is_ended(tmp_path, start):
    process = start(SLEEPS, "--run-dir", str(tmp_path))
    cloud.end_cloud(tmp_path)
    assert process.poll() is not None


def test_a_process_of_another_directory_is_left_alone(tmp_path, start):
    process = start(SLEEPS, "--run-dir", str(tmp_path / "other"))
    cloud.end_cloud(tmp_path)
    assert process.poll() is None


def test_nothing_happens_when_it_has_ended(tmp_path, start):
    process = start("print('up', flush=True)", "--run-dir", str(tmp_path))
    process.wait()
    cloud.end_cloud(tmp_path)


@pytest.mark.parametrize("content", [None, "", "no number"])
def test_nothing_happens_without_a_number(tmp_path, content):
    if content is not None:
        (tmp_path / "opennebula.pid").write_text(content)
    cloud.end_cloud(tmp_path)


def test_a_process_that_does_not_end_is_named(tmp_path, start, monkeypatch):
    process = start(IGNORES, "--run-dir", str(tmp_path))
    monkeypatch.setattr(cloud, "END_SECONDS", 1)
    with pytest.raises(ServiceError, match=f"process {process.pid}.*did not end within 1 s"):
        cloud.end_cloud(tmp_path)
