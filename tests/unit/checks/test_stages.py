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
    every = [
        *stages.everyday(),
        *stages.more_scenarios(),
        *stages.simulation(),
        *stages.other_releases(),
    ]
    assert sorted(stages.read_floors(stages.FLOORS)) == sorted(stage.name for stage in every)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["good"]),
        (["bad"], ["bad"]),
        (["--full"], ["good", "bad", "other", "simulated", "release"]),
        (["--changed"], ["good", "other"]),
        (["--changed", "other"], ["other"]),
    ],
)
def test_stages_are_chosen_by_name_or_by_what_has_changed(monkeypatch, arguments, names):
    ran = []
    monkeypatch.setattr(stages, "everyday", lambda: [PASSES])
    monkeypatch.setattr(stages, "more_scenarios", lambda: [FAILS, Stage("other", ())])
    monkeypatch.setattr(stages, "simulation", lambda: [Stage("simulated", ())])
    monkeypatch.setattr(stages, "other_releases", lambda: [Stage("release", ())])
    monkeypatch.setattr(stages, "changed_scenarios", lambda root, of: [name for name in of if name != "bad"])
    monkeypatch.setattr(stages, "run", lambda chosen, floors: ran.extend(stage.name for stage in chosen))
    monkeypatch.setattr(stages.signal, "signal", lambda *_: None)
    stages.main(arguments)
    assert ran == names


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


def test_an_unknown_stage_is_named(capsys):
    with pytest.raises(SystemExit):
        stages.main(["nonsense"])
    assert "no stage nonsense" in capsys.readouterr().err
