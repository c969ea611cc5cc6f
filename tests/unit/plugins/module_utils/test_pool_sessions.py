# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions of a worker as it publishes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import encode_attributes
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_sessions import (
    SESSION_USERS_CHARACTERS,
    node_counts,
    session_users,
    sessions_on,
)
from tests.unit.plugins.pool_world import NOW, make_job, make_node, name_of
from tests.unit.plugins.slurm_samples import VERSIONS, recorded_reading


def session(user="alice", start=NOW):
    return replace(make_job(state="RUNNING", nodes=[name_of(3)]), user=user, start_time=start)


@pytest.mark.parametrize(
    ("user", "start", "text"),
    [
        ("alice", NOW, "alice:2027-01-15T08:00:00Z"),
        ("alice", None, "alice:"),
        ("SITE\\bob", NOW, "SITE/bob:2027-01-15T08:00:00Z"),
        ("a;b:c,d=[e]", NOW, "a_b_c_d_(e):2027-01-15T08:00:00Z"),
        (" ", NOW, "_:2027-01-15T08:00:00Z"),
    ],
)
def test_one_session(user, start, text):
    assert session_users([session(user, start)]) == text


def test_no_session_is_an_empty_text():
    assert session_users([]) == ""


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=90), st.none() | st.integers(0, 4_000_000_000)), max_size=80))
def test_any_users_make_a_value_that_onegate_takes(users):
    text = session_users([session(*one) for one in users])
    assert len(text) <= SESSION_USERS_CHARACTERS
    encode_attributes({"SESSION_USERS": text})
    entries = text.split(";") if text else []
    assert all(entry.partition(":")[0] for entry in entries)
    assert len(entries) == len(users) or len(text) > SESSION_USERS_CHARACTERS - 90


def test_the_longest_running_come_first_and_a_completing_job_is_no_session():
    jobs = [session("carol", NOW - 5), session("bob", NOW - 60), replace(session("ann", 1), state="COMPLETING")]
    found = sessions_on(SlurmReading((), tuple(jobs)), name_of(3))
    assert [job.user for job in found] == ["bob", "carol"]


def test_every_machine_is_with_or_without_a_job():
    nodes = [make_node(3, "MIXED"), make_node(4, "DOWN"), make_node(5, "IDLE+DRAIN", "x"), make_node("ph", "FUTURE")]
    assert node_counts(SlurmReading(tuple(nodes), (session(),))) == (2, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorded_sessions(version):
    reading = recorded_reading(version, "mixed")
    for node in reading.machines:
        sessions = sessions_on(reading, node.name)
        assert bool(sessions) == (node.base_state in ("ALLOCATED", "MIXED"))
        assert all(":1" not in entry and entry.endswith("Z") for entry in session_users(sessions).split(";") if entry)
