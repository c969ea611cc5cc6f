# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of this repository and their closing line."""

from __future__ import annotations

import sys

import pytest

from tests.checks import stages
from tests.checks.stage import Stage, Tool

PASSES = Stage("good", (Tool("passes", (sys.executable, "-c", "")),))
FAILS = Stage("bad", (Tool("fails", (sys.executable, "-c", "raise SystemExit(1)")),))


def test_each_stage_has_a_floor_and_each_floor_a_stage():
    assert sorted(stages.read_floors(stages.FLOORS)) == sorted(stage.name for stage in stages.stages())


@pytest.mark.parametrize("content", ["unit: 0", "unit: many", "unit: true", "unit: 1.5", "- unit", ""])
def test_a_floor_that_is_no_number_of_tests_is_refused(tmp_path, content):
    (tmp_path / "floors.yml").write_text(content)
    with pytest.raises(ValueError, match=r"floors\.yml"):
        stages.read_floors(tmp_path / "floors.yml")


@pytest.mark.parametrize(
    ("chosen", "floors", "code", "closing"),
    [
        ([PASSES], {"good": 1}, 0, "1 passed, 0 failed"),
        ([FAILS, PASSES], {"good": 1, "bad": 1}, 1, "1 passed, 2 failed"),
        ([PASSES], {"good": 2}, 1, "1 passed, 1 failed"),
        ([PASSES], {}, 1, "1 passed, 1 failed"),
        ([], {}, 1, "0 passed, 0 failed"),
    ],
)
def test_the_last_line_counts_and_the_exit_code_says_the_same(capfd, chosen, floors, code, closing):
    assert stages.run(chosen, floors) == code
    assert capfd.readouterr().out.splitlines()[-1] == closing


def test_a_full_stage_runs_only_when_it_is_named(monkeypatch, capfd):
    monkeypatch.setattr(stages, "stages", lambda: [PASSES, Stage("long", PASSES.commands, full=True)])
    monkeypatch.setattr(stages, "read_floors", lambda path: {"good": 1, "long": 1})
    stages.main([])
    assert "== long" not in capfd.readouterr().out
    stages.main(["long"])
    assert "== long" in capfd.readouterr().out


def test_an_unknown_stage_is_named(capsys):
    with pytest.raises(SystemExit):
        stages.main(["nonsense"])
    assert "no stage nonsense" in capsys.readouterr().err
