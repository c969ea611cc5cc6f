# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract test notices a simulator with a wrong rule, and a recording without a replay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.contract import recorded
from tests.contract.comparing import Expected, Like, answer_differences
from tests.contract.onegate_replays import REPLAYS, files_without_replay, recorded_keys
from tests.contract.recorded import RECORDINGS
from tests.contract.wrong_rules import PUT, STORY, WRONG_RULES, WrongRule
from tests.opennebula import onegate_answers
from tests.opennebula.messages import Response

SEED = 20261130


@pytest.mark.parametrize("wrong", WRONG_RULES, ids=lambda wrong: wrong.name)
def test_a_wrong_rule_is_noticed(wrong: WrongRule) -> None:
    assert wrong.differences(SEED) != []
    assert REPLAYS[wrong.file](SEED).differences == [], "the rule must be right again"


def test_a_change_that_is_no_change_is_not_noticed() -> None:
    harmless = WrongRule(
        "no change", onegate_answers, "is_extended", lambda _: lambda query: "extended" in query, STORY
    )
    assert harmless.differences(SEED) == []


def test_there_are_enough_of_them_and_all_differ() -> None:
    assert len({wrong.name for wrong in WRONG_RULES}) == len(WRONG_RULES) >= 6


@pytest.mark.parametrize("file", [PUT, STORY, "onegate-puma.json", "onegate-auth.json", "onegate-6.10.5-errors.json"])
def test_an_exchange_without_a_replay_is_noticed(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(RECORDINGS, tmp_path, dirs_exist_ok=True)
    content = json.loads((tmp_path / file).read_text(encoding="utf-8"))
    cases = content if isinstance(content, list) else content["cases"]
    cases.append({**cases[-1], "case": "never replayed"})
    (tmp_path / file).write_text(json.dumps(content), encoding="utf-8")
    asked = REPLAYS[file](SEED).asked
    monkeypatch.setattr(recorded, "RECORDINGS", tmp_path)
    assert recorded_keys(file) - asked


def test_a_recording_without_a_replay_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files_without_replay(RECORDINGS) == []
    shutil.copytree(RECORDINGS, tmp_path, dirs_exist_ok=True)
    (tmp_path / "onegate-new.json").write_text("[]", encoding="utf-8")
    assert files_without_replay(tmp_path) == ["onegate-new.json"]


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (Expected(200, None, ""), Response(201)),
        (Expected(200, "text/html", ""), Response(200)),
        (Expected(204, "", ""), Response(204)),
        (Expected(400, None, "no"), Response(400, "No")),
        (Expected(200, None, {"A": "1"}), Response(200, '{"A":1}')),
        (Expected(200, None, {"A": "1"}), Response(200, '{"A": "1"}')),
        (Expected(200, None, {"A": "1", "B": "2"}), Response(200, '{"B":"2","A":"1"}')),
        (Expected(200, None, {"A": [1, 2]}), Response(200, '{"A":[1]}')),
        (Expected(200, None, {"A": None}), Response(200, "{}")),
        (Expected(200, None, {}), Response(200, '{"A":null}')),
        (Expected(200, None, {"A": Like("[0-9]+")}), Response(200, '{"A":"1x"}')),
        (Expected(200, None, {"A": "ž"}), Response(200, '{"A":"\\u017e"}')),
        (Expected(200, None, {"A": True}), Response(200, '{"A":1}')),
        (Expected(200, None, {}), Response(200, "{")),
    ],
)
def test_a_difference_is_found(expected: Expected, answer: Response) -> None:
    assert len(answer_differences(expected, answer)) == 1


def test_no_difference_is_found_where_there_is_none() -> None:
    answer = Response(200, '{"A":[1,null,"ž"],"B":{"C":"12"}}')
    assert answer_differences(Expected(200, None, {"A": [1, None, "ž"], "B": {"C": Like("[0-9]+")}}), answer) == []
