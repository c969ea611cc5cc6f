# SPDX-License-Identifier: GPL-3.0-or-later
"""The stage runner counts every test, holds floors, and ends what runs too long."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.checks.stage import Count, Pytest, Stage, Tool, read_report, run_stage

PASSES = Tool("passes", (sys.executable, "-c", "print('all is well')"))
FAILS = Tool("fails", (sys.executable, "-c", "import sys; print('what is wrong'); sys.exit(3)"))


def run(commands, floor, cwd: Path) -> tuple[Count, str]:
    lines: list[str] = []
    count = run_stage(
        Stage("trial", tuple(commands)),
        floor=floor,
        python=sys.executable,
        cwd=cwd,
        environment=dict(os.environ),
        say=lines.append,
    )
    return count, "\n".join(lines)


def pytest_on(folder: Path, source: str) -> Pytest:
    (folder / "test_trial.py").write_text(source)
    return Pytest("pytest", ("-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)))


def test_each_tool_counts_once_and_the_line_names_stage_count_duration_and_floor(tmp_path):
    count, said = run([PASSES, PASSES], 2, tmp_path)
    assert (count.passed, count.failed) == (2, 0)
    assert said.splitlines()[-1].startswith("== trial: 2 passed, 0 failed in ")
    assert said.endswith("s (floor 2)")


def test_a_failing_tool_shows_its_output_and_the_others_still_run(tmp_path):
    count, said = run([FAILS, PASSES], 1, tmp_path)
    assert (count.passed, count.failed) == (1, 1)
    assert "what is wrong" in said
    assert count.complaints == ["fails: exit code 3"]
    assert "all is well" not in said


def test_a_tool_that_is_not_there_is_a_failure(tmp_path):
    count, _said = run([Tool("absent", (str(tmp_path / "absent"),))], 1, tmp_path)
    assert count.failed == 2  # the tool, and the floor
    assert "cannot be started" in count.complaints[0]


def test_a_command_that_runs_too_long_is_ended(tmp_path):
    marker = tmp_path / "pid"
    endless = f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    started = time.monotonic()
    count, _said = run([Tool("endless", (sys.executable, "-c", endless), timeout_seconds=2), PASSES], 1, tmp_path)
    assert time.monotonic() - started < 60
    assert count.complaints == ["endless: did not end within 2 s"]
    assert not Path(f"/proc/{marker.read_text()}").exists()


@pytest.mark.parametrize("floor", [3, None])
def test_too_few_tests_or_no_floor_fail_the_stage(tmp_path, floor):
    count, said = run([PASSES, PASSES], floor, tmp_path)
    assert (count.passed, count.failed) == (2, 1)
    assert "floor" in said


def test_each_test_of_a_pytest_run_counts_and_skipped_ones_do_not(tmp_path):
    source = """
import pytest
@pytest.mark.parametrize("number", [1, 2, 3])
def test_passes(number): pass
def test_fails(): assert 1 == 2
@pytest.fixture
def broken(): raise RuntimeError
def test_setup_fails(broken): pass
@pytest.mark.skip
def test_skipped(): pass
"""
    count, _said = run([pytest_on(tmp_path, source)], 3, tmp_path)
    assert (count.passed, count.failed) == (3, 2)
    assert count.complaints == []


def test_a_pytest_run_without_tests_fails(tmp_path):
    count, _said = run([pytest_on(tmp_path, "")], 1, tmp_path)
    assert count.passed == 0
    assert count.complaints[0] == "pytest: exit code 5"


def test_a_pytest_run_of_skipped_tests_only_fails(tmp_path):
    count, _said = run([pytest_on(tmp_path, "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n")], 1, tmp_path)
    assert "pytest: ran no test" in count.complaints


def test_a_pytest_run_that_dies_fails(tmp_path):
    count, _said = run([pytest_on(tmp_path, "import os\ndef test_a(): os._exit(0)\n")], 1, tmp_path)
    assert count.failed
    assert count.passed == 0


def test_a_test_whose_teardown_fails_is_one_failure(tmp_path):
    source = """
import pytest
@pytest.fixture
def broken():
    yield
    raise RuntimeError
def test_a(broken): pass
"""
    count, _said = run([pytest_on(tmp_path, source), PASSES], 1, tmp_path)
    assert (count.passed, count.failed) == (1, 1)


def test_an_unreadable_report_counts_nothing(tmp_path):
    (tmp_path / "report.xml").write_text("<testsuite><testcase")
    assert read_report(tmp_path / "report.xml") == Count()
    assert read_report(tmp_path / "absent.xml") == Count()
