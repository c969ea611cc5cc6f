# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent is stored as it is: judged by recorded updates of a real server."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import (
    FREE_TEXT_CHARACTERS,
    AttributeRefused,
    encode_attributes,
    transliterate,
)
from tests.unit.plugins.onegate_double import sample

REFUSED_BY_US_ALONE = {
    # Values that look like vectors may be stored; a scalar attribute needs none.
    "A=[X=1,Y=two]",
}


def recorded_values():
    """(unquoted update body, its value, what was stored) of every recorded single attribute A with its own text."""
    for case in sample("onegate-put-cases.json")["cases"]:
        body = case["body"]
        if body.startswith("A=") and not body.startswith('A="') and "\n" not in body and "<" not in body[:4]:
            yield body, body[2:], case["stored"].get("A")


@pytest.mark.parametrize(("body", "value", "stored"), list(recorded_values()))
def test_recorded_values_are_sent_as_they_were_or_refused(body, value, stored):
    if stored == value and body not in REFUSED_BY_US_ALONE:
        assert encode_attributes({"A": value}) == body
    else:
        with pytest.raises(AttributeRefused, match="The value of A holds"):
            encode_attributes({"A": value})


def test_recordings_hold_both_kinds():
    outcomes = [stored == value for _body, value, stored in recorded_values()]
    assert outcomes.count(True) >= 10
    assert outcomes.count(False) >= 5


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("a,b", "a comma at position 2"),
        ("node[1", "a bracket at position 5"),
        ("b]", "a bracket at position 2"),
        ('5"', "a double quote at position 2"),
        ("C:\\dir", "a backslash at position 3"),
        ("one\ntwo", "a control character at position 4"),
        ("a\rb", "a control character at position 2"),
        ("a\x00b", "a control character at position 2"),
        ("a\x7fb", "a control character at position 2"),
        ("x\U0001f600", "a character above U+FFFF at position 2"),
        ("x\ud800", "a character XML cannot hold at position 2"),
        ("x\uffff", "a character XML cannot hold at position 2"),
        (" a", "a blank at its start or end"),
        ("a\t", "a blank at its start or end"),
    ],
)
def test_refused_values_are_told_without_the_value(value, what):
    with pytest.raises(AttributeRefused) as refusal:
        encode_attributes({"GOOD": "1", "SECRET": value})
    assert str(refusal.value).startswith(f"The value of SECRET holds {what}, ")


@pytest.mark.parametrize(
    ("attributes", "data"),
    [
        ({}, ""),
        ({"A": ""}, 'A=""'),
        ({"A": 0, "B": -1, "C": 0.5}, "A=0\nB=-1\nC=0.5"),
        ({"_A1": "http://h/?x=1&y=2%20"}, "_A1=http://h/?x=1&y=2%20"),
        ({"A": "x\ty", "B": "žluťoučký kůň ☃ 漢字"}, "A=x\ty\nB=žluťoučký kůň ☃ 漢字"),
    ],
)
def test_one_line_for_each_attribute(attributes, data):
    assert encode_attributes(attributes) == data


@pytest.mark.parametrize("name", ["ready", "A-B", "A.B", "1A", "", "A B", "A=B", "A\n", "Ä", "SERVICE_ID", "ROLE_NAME"])
def test_names_the_server_would_change_or_refuse(name):
    with pytest.raises(AttributeRefused):
        encode_attributes({name: "1"})


@pytest.mark.parametrize("value", [True, False, None, [], {}, float("nan"), float("inf"), b"x"])
def test_only_text_and_numbers_are_values(value):
    with pytest.raises(AttributeRefused, match="^A is "):
        encode_attributes({"A": value})


def stored_by_server(data):
    """What the measured server makes of a body of unquoted lines and empty quoted ones."""
    lines = [line.partition("=") for line in data.split("\n")] if data else []
    return {name: "" if value == '""' else value.strip() for name, _equals, value in lines}


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), st.text(alphabet=' ab=#;%é,\t"\\'), max_size=3
    )
)
@example({"A": "x = y", "B": "", "C": "=="})
def test_whatever_is_not_refused_is_stored_as_it_was(attributes):
    try:
        data = encode_attributes(attributes)
    except AttributeRefused:
        return
    assert stored_by_server(data) == attributes
    data.encode("utf-8")


@given(st.text())
def test_transliterated_text_is_never_refused_and_stays_as_it_is(text):
    fit = transliterate(text)
    assert encode_attributes({"ERROR": fit})
    assert "=" not in fit
    assert len(fit) <= FREE_TEXT_CHARACTERS
    assert transliterate(fit) == fit


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ('a,b [c] "d" e\\f g=h', "a;b (c) 'd' e/f g:h"),
        ("two\nlines\tand \x07bell", "two lines and  bell"),
        ("  trimmed \n", "trimmed"),
        ("smile \U0001f600\ud800", "smile ??"),
        ("ů☃漢", "ů☃漢"),
        ("x" * 239 + " yz", "x" * 239),
        ("", ""),
    ],
)
def test_transliteration(text, fit):
    assert transliterate(text) == fit
