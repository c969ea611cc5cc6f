# SPDX-License-Identifier: GPL-3.0-or-later
"""Erasing of attributes, beyond what was recorded."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opennebula.erasing import ErasePathError, without
from tests.opennebula.messages import Response
from tests.unit.opennebula.scenario import Scenario

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def cloud() -> Scenario:
    return Scenario().running()


def erase(cloud: Scenario, path: str, name: str, vm_id: int, kind: str = "2") -> Response:
    return cloud.gate_request("PUT", path, vm_id, urlencode({"data": name, "type": kind}).encode(), FORM)


def stored(cloud: Scenario, vm_id: int) -> dict:
    return cloud.cloud.vms.get(vm_id).document()["USER_TEMPLATE"]


def test_one_attribute_goes_and_the_rest_stays(cloud: Scenario) -> None:
    before = stored(cloud, 3)
    cloud.publish(3, "OLDEST_IDLE=1")
    response = erase(cloud, "/vms/3", "OLDEST_IDLE", 2)
    assert (response.status, response.body) == (200, "")
    assert stored(cloud, 3) == before


def test_what_others_write_meanwhile_is_lost(cloud: Scenario) -> None:
    cloud.cloud.onegate.change({"erase_gap_seconds": 2})
    cloud.publish(3, "A=1", "B=old")
    cloud.clock.call_later(1, lambda: cloud.cloud.vms.update(cloud.cloud.vms.get(3), 'B="new"\nC="1"'))
    assert erase(cloud, "/vm", "A", 3).status == 200
    assert {name: stored(cloud, 3).get(name) for name in "ABC"} == {"A": None, "B": "old", "C": None}
    updates = ["A: (none) -> 1", "B: (none) -> old", "B: old -> new", "C: (none) -> 1"]
    assert cloud.events("VM_UPDATE")[-7:] == [*updates, "B: new -> old", "A: 1 -> (none)", "C: 1 -> (none)"]


def test_an_update_of_another_vm_is_not_lost(cloud: Scenario) -> None:
    cloud.cloud.onegate.change({"erase_gap_seconds": 2})
    cloud.publish(3, "A=1")
    cloud.clock.call_later(1, lambda: cloud.publish(2, "KEPT=1"))
    assert erase(cloud, "/vm", "A", 3).status == 200
    assert stored(cloud, 2)["KEPT"] == "1"


@pytest.mark.parametrize("kind", ["0", "3", "abc", ""])
def test_another_kind_changes_nothing(cloud: Scenario, kind: str) -> None:
    cloud.publish(3, "A=1")
    before = stored(cloud, 3)
    assert erase(cloud, "/vm", "A", 3, kind).status == 200
    assert erase(cloud, "/vm", "NOPE", 3, kind).status == 200
    assert erase(cloud, "/vm", "ROLE_NAME", 3, kind).body == "Attribute (ROLE_NAME) cannot be deleted"
    assert stored(cloud, 3) == before


def test_an_exception_of_an_older_server_has_no_text(cloud: Scenario) -> None:
    assert erase(cloud, "/vm", "A B", 3).body == "Invalid expression: USER_TEMPLATE/A B"
    cloud.cloud.onegate.change({"shows_causes": True})
    response = erase(cloud, "/vm", "A B", 3)
    assert (response.status, response.body) == (500, "")


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("A", {"V": [{"X": "1", "Y": "2"}], "D": ["1", "2"]}),
        ("V/X", {"A": ["1"], "V": [{"Y": "2"}], "D": ["1", "2"]}),
        ("D", {"A": ["1"], "V": [{"X": "1", "Y": "2"}]}),
        ("*", {}),
        ("V/Z", None),
        ("a", None),
    ],
)
def test_paths(path: str, left: dict | None) -> None:
    assert without({"A": ["1"], "V": [{"X": "1", "Y": "2"}], "D": ["1", "2"]}, path) == left


@pytest.mark.parametrize("path", ["", "A B", "A=", 'A="1"', "1A", "A[", "\x00"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(ErasePathError):
        without({"A": ["1"]}, path)


TEXTS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFFFD, exclude_categories=("Cs", "Cc")), max_size=20)
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=5), st.data())
def test_an_erase_leaves_the_values_of_others_alone(attributes: dict, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(attributes)))
    assert without(attributes, gone) == {name: values for name, values in attributes.items() if name != gone}
