# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo takes down what it started, whatever happens, and keeps it only when that was asked for."""

from __future__ import annotations

import pytest

from tests.service import demo
from tests.service.progress import ServiceError


@pytest.fixture
def taken_down(monkeypatch, tmp_path):
    """Directories that were taken down; a run directory is made below the test's own."""
    done = []

    def take_down(directory):
        done.append(directory)
        directory.rmdir()

    def new_run_directory():
        directory = tmp_path / "run"
        directory.mkdir()
        return directory

    monkeypatch.setattr(demo, "POINTER", tmp_path / "demo.json")
    monkeypatch.setattr(demo, "take_down", take_down)
    monkeypatch.setattr(demo, "new_run_directory", new_run_directory)
    return done


def test_a_finished_demo_is_taken_down(taken_down):
    with demo.run_directory(keep=False) as directory:
        assert demo.running_directory() == directory
        assert taken_down == []
    assert taken_down == [directory]
    assert demo.running_directory() is None


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_demo_that_was_cut_off_is_taken_down_even_when_it_was_to_be_kept(taken_down, keep, error):
    with pytest.raises(error), demo.run_directory(keep) as directory:
        raise error
    assert taken_down == [directory]
    assert demo.running_directory() is None


def test_a_service_that_failed_is_kept_when_that_was_asked_for(taken_down, capsys):
    with pytest.raises(ServiceError), demo.run_directory(keep=True) as directory:
        raise ServiceError("not RUNNING")
    assert (demo.running_directory(), taken_down) == (directory, [])
    assert "demo-down" in capsys.readouterr().err


def test_a_service_that_failed_is_taken_down_otherwise(taken_down):
    with pytest.raises(ServiceError), demo.run_directory(keep=False) as directory:
        raise ServiceError("not RUNNING")
    assert (demo.running_directory(), taken_down) == (None, [directory])


def test_a_kept_demo_runs_until_down(taken_down):
    with demo.run_directory(keep=True) as directory:
        pass
    assert demo.running_directory() == directory
    assert taken_down == []
    assert demo.down() == 0
    assert taken_down == [directory]
    assert demo.down() == 0
    assert taken_down == [directory]


def test_a_second_demo_does_not_start_beside_a_kept_one(taken_down, capsys):
    with demo.run_directory(keep=True) as directory:
        pass
    assert demo.run(keep=False, inputs={}) == 2
    assert str(directory) in capsys.readouterr().err
