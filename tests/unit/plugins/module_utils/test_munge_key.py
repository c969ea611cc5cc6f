# SPDX-License-Identifier: GPL-3.0-or-later
"""The published key is decoded strictly and waited for with growing pauses."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils import munge_key
from ansible_collections.onehpc.ondemand.plugins.module_utils.munge_key import (
    LONGEST_PAUSE_SECONDS,
    MungeKeyError,
    decode_key,
    wait_for_key,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError


@given(st.binary(min_size=32, max_size=100), st.booleans())
def test_key_comes_back_with_and_without_padding(key, padded):
    text = base64.b64encode(key).decode()
    assert decode_key(text if padded else text.rstrip("=")) == key


@given(st.text())
def test_any_text_is_a_long_key_or_a_sentence_without_it(text):
    try:
        key = decode_key(text)
    except MungeKeyError as error:
        assert str(error).startswith("SLURM_MUNGE_KEY ")
    else:
        assert len(key) >= 32


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("AAAA", "SLURM_MUNGE_KEY holds 3 bytes, munge needs at least 32"),
        ("A" * 45, "SLURM_MUNGE_KEY is not base64"),
        ("A" * 40 + " " + "A" * 4, "SLURM_MUNGE_KEY is not base64"),
        ("-_" * 24, "SLURM_MUNGE_KEY is not base64"),
        ("é" * 44, "SLURM_MUNGE_KEY is not base64"),
    ],
)
def test_what_is_no_key(text, sentence):
    with pytest.raises(MungeKeyError) as error:
        decode_key(text)
    assert str(error.value) == sentence


class Time:
    """A clock that only sleep moves."""

    def __init__(self):
        self.now = 0.0
        self.pauses = []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


def wait(monkeypatch, outcomes, wait_seconds):
    """wait_for_key with one outcome after the other; returns its result and the pauses."""
    remaining = iter(outcomes)

    def published_key(_client, _role):
        outcome = next(remaining)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(munge_key, "published_key", published_key)
    time = Time()
    return wait_for_key(lambda: "client", "portal", wait_seconds, time.sleep, time.clock), time


def failure(status):
    return OneGateError("GET", "/service", "", status, f"answered {status}.", retryable=status >= 500)


def test_key_that_comes_later_is_waited_for(monkeypatch):
    outcomes = [MungeKeyError("not yet"), failure(404), failure(503), (b"key", 6)]
    result, time = wait(monkeypatch, outcomes, 180)
    assert result == (b"key", 6)
    assert time.pauses == [1.0, 1.5, 2.25]


@pytest.mark.parametrize("status", [401, 403])
def test_refusal_ends_the_wait(monkeypatch, status):
    with pytest.raises(OneGateError):
        wait(monkeypatch, [failure(status)], 180)


def test_wait_ends_with_the_last_reason(monkeypatch):
    outcomes = [failure(404)] * 100
    with pytest.raises(MungeKeyError, match=r"^No munge key after 20 s: answered 404\. See the portal's first boot"):
        wait(monkeypatch, outcomes, 20)


def test_pauses_grow_to_a_limit_and_end_with_the_wait(monkeypatch):
    time = Time()

    def refuse(*_arguments):
        raise MungeKeyError("not yet")

    monkeypatch.setattr(munge_key, "published_key", refuse)
    with pytest.raises(MungeKeyError):
        wait_for_key(lambda: "client", "portal", 60, time.sleep, time.clock)
    assert max(time.pauses) == LONGEST_PAUSE_SECONDS
    assert sum(time.pauses) == pytest.approx(60)


def test_without_a_wait_it_is_asked_once(monkeypatch):
    with pytest.raises(MungeKeyError, match="No munge key after 0 s: not yet"):
        wait(monkeypatch, [MungeKeyError("not yet")], 0)


def test_client_is_made_again_until_an_endpoint_answers(monkeypatch):
    monkeypatch.setattr(munge_key, "published_key", lambda client, _role: (client, 6))
    attempts = iter([failure(503), failure(503), None])
    time = Time()

    def make_client():
        outcome = next(attempts)
        if outcome:
            raise outcome
        return "client"

    assert wait_for_key(make_client, "portal", 30, time.sleep, time.clock) == ("client", 6)
    assert len(time.pauses) == 2
