# SPDX-License-Identifier: GPL-3.0-or-later
"""What a PUT may contain and what is stored of it."""

from __future__ import annotations

import base64
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opennebula import onegate
from tests.opennebula.escaping import escape_attributes
from tests.opennebula.template_syntax import TemplateSyntaxError, parse_template
from tests.opennebula.user_template import CoreRefused, merge, parse_update, shown, through_xmlrpc
from tests.unit.opennebula.scenario import Scenario, sample

BASE64_CHARACTERS = string.ascii_letters + string.digits + "+/"


def expand(text: str) -> str:
    """Recorded bodies name long base64 values by their length only."""

    def value(match: re.Match[str]) -> str:
        length = int(match.group(1))
        padding = "==" if length == 1368 else ""
        return (BASE64_CHARACTERS * (length // 64 + 1))[: length - len(padding)] + padding

    return re.sub(r"<(\d+) base64 characters>", value, text)


def case_id(case: dict) -> str:
    return f"{case['case']}:{case['body'][:20]!r}"


@pytest.fixture(scope="module")
def cloud() -> Scenario:
    return Scenario().running()


def own_attributes(scenario: Scenario, vm_id: int) -> dict:
    """What an update has stored: everything but the service's own attributes."""
    known = ("ROLE_NAME", "SERVICE_ID", "ONEAPP_ROLE", "ONEAPP_NFS_HOST")
    document = onegate.parsed(scenario.get("/vm", vm_id))["VM"]
    return {name: value for name, value in document["USER_TEMPLATE"].items() if name not in known}


@pytest.mark.parametrize("form", [True, False], ids=["form", "raw"])
@pytest.mark.parametrize("case", sample("onegate-put-cases.json")["cases"], ids=case_id)
def test_recorded_update(cloud: Scenario, case: dict, form: bool) -> None:
    vm = cloud.cloud.vms.get(3)
    vm.user_template = {name: vm.user_template[name] for name in ("ROLE_NAME", "SERVICE_ID")}
    body = expand(case["body"])
    response = cloud.put("/vm", 3, body, form)
    assert (response.status, response.body) == (case["status"], case["response"])
    expected = {name: expand(value) if isinstance(value, str) else value for name, value in case["stored"].items()}
    assert own_attributes(cloud, 3) == expected


@pytest.mark.parametrize(
    ("body", "escaped"),
    [
        ("A=1", 'A="1"'),
        ("A=", 'A="'),
        ('A="', 'A="'),
        ("A=x=y", 'A="x=y"'),
        ('A="x=y"', 'A="x="y"'),
        ("A=a,b", 'A="a",b"'),
        ('A="a","b"', 'A="a","b"'),
        ("A=n[1]", 'A="n"[1"]'),
        ('A="n"[1]', 'A="n"[1"]'),
        ('A=["x"]', 'A=["x"]'),
        ("A=[]", 'A=["]'),
        ("A=]", 'A="]'),
        ("A=x]=y", 'A="x"]="y"'),
        ("A=x\\y=z", 'A="x"\\y="z"'),
        ('A="x"\\y', 'A="x"\\y'),
        ("A=1\nB=2", 'A="1"\nB="2"'),
        ('A="1"\nB=2', 'A="1"\nB="2"'),
        ('A=1"\nB=2', 'A="1"\nB=2"'),
        ("A=1\\nB=2", 'A="1"\nB="2"'),
        ("=", '="'),
        ("", ""),
    ],
)
def test_escaping(body: str, escaped: str) -> None:
    assert escape_attributes(body) == escaped


def parsed(body: str) -> list:
    return parse_update(through_xmlrpc(escape_attributes(body)))


def stored_by(body: str) -> dict:
    return shown(merge({}, parsed(body)))


UNQUOTED = [
    ("A=https://portal.example/?x=1&y=2", "https://portal.example/?x=1&y=2"),
    ("A= lead and trail ", "lead and trail"),
    ("A=C:\\dir", '"C:"\\dir'),
    ('A=5"', "5"),
    ("A=", '"'),
    ('A={"k":1}', '"{"k":1}"'),
    ("A = two words", "two words"),
    ("A=a\rb", "a\nb"),
    ("A=žluť 漢", "žluť 漢"),
    ("A=x\ty", "x\ty"),
    ("A=; : | # & < > ( ) { } ! @ $ ^ * ~ ? / + %", "; : | # & < > ( ) { } ! @ $ ^ * ~ ? / + %"),
]


@pytest.mark.parametrize(("body", "value"), UNQUOTED)
def test_unquoted_value_is_stored(body: str, value: str) -> None:
    assert stored_by(body) == {"A": value}


@pytest.mark.parametrize(
    "body",
    ["A=a,b", "A=node[1-3]", 'A=say "hi" now', "A=a\\b c", "A=x😀", "A=x\x01y", "A=x\x00y", "A-B=1"],
)
def test_unquoted_value_is_refused(body: str) -> None:
    with pytest.raises(CoreRefused):
        stored_by(body)


def test_two_characters_backslash_and_n_separate_lines() -> None:
    assert stored_by("A=1\\nB=2") == {"A": "1", "B": "2"}


def test_an_empty_unquoted_value_is_a_quote_only_at_the_end_of_the_body() -> None:
    assert stored_by("A=\nB=1") == {"A": "", "B": "1"}


def test_what_the_scheduler_says_is_not_shown(cloud: Scenario) -> None:
    assert cloud.put("/vm", 0, "SCHED_MESSAGE=no host\nA=1").status == 200
    assert own_attributes(cloud, 0) == {"A": "1"}


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        (0x08, False),
        (0x09, True),
        (0x0A, True),
        (0x0B, False),
        (0x1F, False),
        (0x20, True),
        (0x7F, True),
        (0xD7FF, True),
        (0xD800, False),
        (0xDFFF, False),
        (0xE000, True),
        (0xFFFD, True),
        (0xFFFE, False),
        (0x10000, False),
    ],
)
def test_characters_that_reach_the_core(code: int, allowed: bool) -> None:
    if allowed:
        assert through_xmlrpc(chr(code)) == chr(code)
        return
    with pytest.raises(CoreRefused):
        through_xmlrpc(chr(code))


def test_line_ends_on_the_way_to_the_core() -> None:
    assert through_xmlrpc("a\r\nb\rc\nd") == "a\nb\nc\nd"


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("", []),
        ("A=\nB=1", [("A", ""), ("B", "1")]),
        ("A = \t\nB=1", [("A", ""), ("B", "1")]),
        ('A="two\nlines"', [("A", "two\nlines")]),
        ('A="say \\"hi\\""', [("A", 'say "hi"')]),
        ("A=[]", [("A", {})]),
        ('A=[ X="1" , y = "2" ]', [("A", {"X": "1", "Y": "2"})]),
        ('A=[X="1",X="2"]', [("A", {"X": "1"})]),
        ("A=1\nA=2", [("A", "1"), ("A", "2")]),
        ("  # A=9\nA=1", [("A", "1")]),
    ],
)
def test_syntax_of_the_core(text: str, attributes: list) -> None:
    assert parse_template(text) == attributes


@pytest.mark.parametrize(
    "text", ["A", "A=", "=1", "A=[", 'A=[X="1"', 'A=[X="1",]', "A=[X]", 'A="x]]>y"', "A=1 2", "A=1=2", "]", "A=[X=\n]"]
)
def test_no_syntax_of_the_core(text: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="Parse error: syntax error, unexpected "):
        parse_template(text)


def test_vector_members_keep_their_names_in_upper_case() -> None:
    assert stored_by('A=[x="1",Y="two words"]') == {"A": {"X": "1", "Y": "two words"}}


def test_one_bad_line_and_nothing_is_stored(cloud: Scenario) -> None:
    before = own_attributes(cloud, 2)
    assert cloud.put("/vm", 2, "GOOD=1\nBAD=a,b").status == 500
    assert own_attributes(cloud, 2) == before


def test_a_set_of_a_worker_passes_in_one_put_and_others_stay(cloud: Scenario) -> None:
    cloud.publish(1, "KEEP=old", "SLURM_PENDING=3")
    lines = [
        "SLURM_PENDING=0",
        "SESSION_USERS=demo1:2026-11-30T12:00:00;demo2:2026-11-30T12:05:00",
        "ERROR=one-ondemand worker: cannot mount 192.0.2.11:/export/home (timed out)",
        'ERASED=""',
    ]
    cloud.publish(1, *lines)
    stored = own_attributes(cloud, 1)
    assert stored["KEEP"] == "old"
    assert stored["SLURM_PENDING"] == "0"
    assert stored["SESSION_USERS"] == "demo1:2026-11-30T12:00:00;demo2:2026-11-30T12:05:00"
    assert stored["ERROR"].endswith("(timed out)")
    assert stored["ERASED"] == ""


@pytest.mark.parametrize(
    ("body", "status"),
    [("service_id=9", 403), ("SCHED_REQUIREMENTS=x", 403), ("A=1\\nROLE_NAME=x", 403), ("MY_SERVICE_ID=9", 200)],
)
def test_protected_names(cloud: Scenario, body: str, status: int) -> None:
    response = cloud.put("/vm", 3, body)
    assert response.status == status
    if status == 403:
        name = "service_id" if "service" in body else body.rpartition("n")[2].split("=")[0].lstrip("n")
        assert response.body.startswith("Attribute (")
        assert response.body.endswith(") cannot be modified")
        assert name.upper() in response.body.upper()


def test_a_raw_body_with_the_content_type_of_forms(cloud: Scenario) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    response = cloud.gate_request("PUT", "/vm", 3, b"A=50% done", kind)
    assert (response.status, response.body) == (400, "Invalid query parameters: invalid %-encoding (50% done)")
    assert cloud.gate_request("PUT", "/vm", 3, b"PLAIN=50 done", kind).status == 200
    with_charset = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert cloud.gate_request("PUT", "/vm", 3, b"data=SECOND%3D2+2&type=1", with_charset).status == 200
    assert own_attributes(cloud, 3)["SECOND"] == "2 2"
    assert own_attributes(cloud, 3)["PLAIN"] == "50 done"


def test_put_to_a_sibling_is_seen_in_its_next_get(cloud: Scenario) -> None:
    assert cloud.put("/vms/3", 2, "SLURM_NOTE=from portal").status == 200
    assert own_attributes(cloud, 3)["SLURM_NOTE"] == "from portal"


def test_put_to_a_vm_of_no_service(cloud: Scenario) -> None:
    response = cloud.put("/vms/0", 2, "X=1")
    assert (response.status, response.body) == (400, f"Service {cloud.service.id} does not contain VM 0.")


SAFE_CHARACTERS = st.characters(
    min_codepoint=0x20,
    max_codepoint=0xFFFD,
    exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"),
    exclude_characters=',[]"\\',
)
SAFE_VALUES = st.text(st.one_of(SAFE_CHARACTERS, st.just(" ")), min_size=1, max_size=60).filter(
    lambda text: text == text.strip() and text.isprintable() and not any(ord(character) > 0xFFFD for character in text)
)
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True).filter(
    lambda name: name not in ("SERVICE_ID", "ROLE_NAME", "SCHED_REQUIREMENTS")
)


@given(st.dictionaries(NAMES, SAFE_VALUES, min_size=1, max_size=5))
def test_everything_by_the_safe_rule_is_stored_as_it_is(values: dict[str, str]) -> None:
    body = "\n".join(f"{name}={value}" for name, value in values.items())
    assert stored_by(body) == values


@given(st.binary(min_size=1, max_size=200))
def test_base64_survives_unquoted_with_padding(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    assert stored_by(f"KEY={encoded}\nB=1") == {"KEY": encoded, "B": "1"}


@given(st.text(max_size=80))
def test_any_text_is_stored_or_refused(body: str) -> None:
    try:
        attributes = parsed(body)
    except CoreRefused:
        return
    for name, _ in attributes:
        assert re.fullmatch(r"[A-Z0-9_]+", name)
        assert not name[0].isdigit()


@given(
    st.dictionaries(NAMES, st.lists(st.text(max_size=5), min_size=1, max_size=2), max_size=4),
    st.lists(st.tuples(NAMES, st.text(max_size=5)), max_size=4),
)
def test_merge_replaces_exactly_the_named(stored: dict, update: list) -> None:
    merged = merge(stored, update)
    for name in stored.keys() | dict(update).keys():
        given_values = [value for other, value in update if other == name]
        assert merged[name] == (given_values or stored[name])
