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
    every = [*stages.everyday(), *stages.more_scenarios(), *stages.other_releases(), *stages.measurements()]
    assert sorted(stages.read_floors(stages.FLOORS)) == sorted(stage.name for stage in every)


@pytest.mark.parametrize(
    ("arguments", "names", "scenarios"),
    [
        ([], ["good", "molecule"], 3),
        (["boot"], ["boot"], 1),
        (["--full"], ["good", "molecule", "pool", "release", "figures"], 5),
        (["--changed"], ["good", "molecule"], 4),
    ],
)
def test_stages_are_chosen_by_name_or_by_what_has_changed(monkeypatch, arguments, names, scenarios):
    ran = []
    everyday = stages.everyday
    monkeypatch.setattr(stages, "MORE_SCENARIOS", ("boot", "other"))
    monkeypatch.setattr(stages, "everyday", lambda more=(): [PASSES, everyday(more)[-1]])
    monkeypatch.setattr(stages, "other_releases", lambda: [Stage("release", ())])
    monkeypatch.setattr(stages, "measurements", lambda: [Stage("figures", ())])
    monkeypatch.setattr(stages, "changed_scenarios", lambda root, of: [name for name in of if name != "boot"])
    monkeypatch.setattr(stages, "read_floors", lambda path: {"molecule": 30, "boot": 2, "other": 1})
    monkeypatch.setattr(stages, "run", lambda chosen, floors: ran.append((chosen, floors)))
    monkeypatch.setattr(stages.signal, "signal", lambda *_: None)
    stages.main(arguments)
    [(chosen, floors)] = ran
    assert [stage.name for stage in chosen] == names
    [molecule] = [stage for stage in chosen if stage.name in ("molecule", "boot")]
    assert molecule.commands[0].arguments[-1].count(",") + 1 == scenarios
    assert floors["molecule"] == 30 + {5: 3, 4: 1}.get(scenarios, 0)


def test_stages_are_either_named_or_chosen(capsys):
    with pytest.raises(SystemExit):
        stages.main(["--full", "lint"])
    assert "name none" in capsys.readouterr().err


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
