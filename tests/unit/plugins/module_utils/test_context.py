# SPDX-License-Identifier: GPL-3.0-or-later
"""one_env is read as OpenNebula's package writes it: nothing escaped, values of several lines, never sourced."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import (
    ContextError,
    context_of,
    parse_one_env,
    read_context,
)

names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True)
values = st.text().filter(lambda text: not re.search(r'(^|\n)export [A-Za-z_][A-Za-z0-9_]*="', text))


def written(variables):
    return "".join(f'export {name}="{value}"\n' for name, value in variables.items())


@given(st.dictionaries(names, values))
def test_every_value_comes_back_as_it_was_written(variables):
    assert parse_one_env(written(variables)) == variables


@given(
    st.lists(st.sampled_from(['export A="', 'export B="', "export ", '"', "\n", "x", "$(y)", "\\", "\r"])).map("".join)
)
def test_any_text_makes_variables_of_its_own_parts_or_a_sentence(text):
    try:
        parsed = parse_one_env(text)
    except ContextError as refusal:
        assert "has no closing quote" in str(refusal)
        return
    assert set(parsed) == set(re.findall(r'(?:^|\n)export ([AB])="', text))
    assert all(f'="{value}"' in text for value in parsed.values())


def test_value_of_several_lines_with_quotes_and_shell_code():
    text = 'export KEYS="ssh-ed25519 AAAA a"b\n$(touch /tmp/x) `id`\nexport of nothing\nlast"\nexport B="2"\n'
    assert parse_one_env(text) == {
        "KEYS": 'ssh-ed25519 AAAA a"b\n$(touch /tmp/x) `id`\nexport of nothing\nlast',
        "B": "2",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ('export A=""\n', {"A": ""}),
        ('export A="1"  # after the last quote\n', {"A": "1"}),
        ('# before\nexport A="1"\n', {"A": "1"}),
        ('export A="1"', {"A": "1"}),
        ('export A="1"\nexport A="2"\n', {"A": "2"}),
        ('export A="one\rtwo\u2028three"\n', {"A": "one\rtwo\u2028three"}),
    ],
)
def test_folding(text, expected):
    assert parse_one_env(text) == expected


def test_file_that_is_still_being_written_is_refused():
    with pytest.raises(ContextError, match="B has no closing quote"):
        parse_one_env('export A="1"\nexport B="half')


def test_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(ContextError, match="cannot be read: No such file"):
        read_context(tmp_path / "one_env")


def test_read_context(tmp_path):
    path = tmp_path / "one_env"
    variables = {
        "TOKENTXT": "dG9rZW4=",
        "VMID": "17",
        "ONEGATE_ENDPOINT": "http://169.254.16.9:5030",
        "ETH1_MAC": "02:00:0a:4d:00:05",
        "ETH1_IP": "10.77.0.5",
        "ETH1_MASK": "255.255.252.0",
        "ETH0_MAC": "02:00:0a:42:00:05",
        "ETH0_IP": "10.66.0.5",
        "ETH0_GATEWAY": "10.66.0.1",
        "ETH0_ALIAS0_IP": "10.66.0.99",
        "ETH10_MAC": "02:00:0a:4e:00:05",
        "ETH2_IP": "",
    }
    path.write_text(written(variables))
    context = read_context(path)
    assert (context.vm_id, context.token) == (17, "dG9rZW4=")
    assert context.onegate_endpoint == "http://169.254.16.9:5030"
    assert [nic.name for nic in context.nics] == ["ETH0", "ETH1", "ETH10"]
    assert context.gateway == "10.66.0.1"
    assert context.management_nic.network == "10.66.0.0/24"
    assert context.nics[1].network == "10.77.0.0/22"
    assert (context.compute_nic.ip, context.compute_nic.mac) == (None, "02:00:0a:4e:00:05")


def test_carriage_return_in_the_file_stays(tmp_path):
    path = tmp_path / "one_env"
    path.write_bytes(b'export VMID="3"\nexport A="one\r\ntwo\xff"\n')
    assert read_context(path).values["A"] == "one\r\ntwo\udcff"


def test_context_without_token_and_networks():
    context = context_of({"VMID": "3"})
    assert (context.token, context.onegate_endpoint, context.nics) == (None, None, ())
    assert (context.management_nic, context.compute_nic, context.gateway) == (None, None, None)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"VMID": "x"}, "VMID is 'x', not a number"),
        ({"VMID": "1", "ETH0_IP": "10.0.0"}, "ETH0_IP '10.0.0' and ETH0_MASK '255.255.255.0' are not an address"),
    ],
)
def test_context_that_makes_no_sense(values, sentence):
    with pytest.raises(ContextError, match=re.escape(sentence)):
        context_of(values)
