# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret is found in every form it may take, and only a secret is."""

from __future__ import annotations

import base64
import binascii
import json
import random
import textwrap
import urllib.parse

import pytest

from tests.service.secrets import Scanner, forms

KEY = random.Random(1).randbytes(1024)
PASSWORD = b"pa/ss+w\"or&d='\\ 7%"
CHAFF = random.Random(2).randbytes(4096)
SECRETS = {"key": [KEY], "password": [PASSWORD]}

WRITTEN = {
    "as it is": lambda value: value,
    "base64": base64.b64encode,
    "base64 without padding": lambda value: base64.b64encode(value).rstrip(b"="),
    "urlsafe base64": base64.urlsafe_b64encode,
    "base64 after one byte": lambda value: base64.b64encode(b"x" + value + b"yz"),
    "base64 after two bytes": lambda value: base64.b64encode(b"xy" + value + b"z"),
    "urlsafe base64 after two bytes": lambda value: base64.urlsafe_b64encode(b"xy" + value + b"z"),
    "base64 in lines of 76": base64.encodebytes,
    "base64 in lines of 20": lambda value: "\n".join(textwrap.wrap(base64.b64encode(value).decode(), 20)).encode(),
    "base64 in JSON of its lines": lambda value: json.dumps(base64.encodebytes(value).decode()).encode(),
    "hex": lambda value: value.hex().encode(),
    "capital hex": lambda value: binascii.hexlify(value).upper(),
    "hex in lines of 60": lambda value: "\n".join(textwrap.wrap(value.hex(), 60)).encode(),
    "JSON of Latin-1": lambda value: json.dumps(value.decode("latin-1")).encode(),
    "JSON of Latin-1 as UTF-8": lambda value: json.dumps(value.decode("latin-1"), ensure_ascii=False).encode(),
    "JSON of UTF-8": lambda value: json.dumps(value.decode("utf-8", "surrogateescape")).encode(),
    "Python's bytes": lambda value: repr(value).encode(),
    "URL": lambda value: urllib.parse.quote(value).encode(),
    "form": lambda value: urllib.parse.urlencode({"data": value}).encode(),
    "URL in small letters": lambda value: (
        urllib.parse.quote(value, safe="").lower().encode() if value == PASSWORD else urllib.parse.quote(value).encode()
    ),
}


@pytest.fixture(scope="module")
def scanner():
    return Scanner(SECRETS)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("offset", [0, 5, 1000])
def test_each_form_is_found_wherever_it_stands(scanner, name, form, offset):
    written = WRITTEN[form](SECRETS[name][0])
    found = scanner.findings(CHAFF[:offset] + b'"' + written + b'"' + CHAFF)
    assert found
    assert {line.partition(" (")[0] for line in found} == {name}


@pytest.mark.parametrize("form", ["base64", "hex"])
def test_a_part_of_a_long_form_is_found(scanner, form):
    written = WRITTEN[form](KEY)
    for start in range(200, 232):
        assert scanner.findings(CHAFF + written[start : start + 32] + CHAFF)


@pytest.mark.parametrize("value", [CHAFF, CHAFF.hex().encode(), base64.b64encode(CHAFF), repr(CHAFF).encode(), b""])
def test_what_is_no_secret_is_not_found(scanner, value):
    assert scanner.findings(value) == []


def test_a_changed_key_is_not_found(scanner):
    other = bytes(byte ^ 0x5A for byte in KEY)
    assert scanner.findings(base64.b64encode(other)) == []


def test_a_secret_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="11 bytes"):
        forms(b"x" * 11)
