# SPDX-License-Identifier: GPL-3.0-or-later
"""The timeline is in order and names its sources."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.service.timeline import Entry, missing, render

ENTRIES = [
    Entry(1800000075.2, "job 2 started", "scontrol show job 2"),
    Entry(1800000000.0, "job 2 submitted", "scontrol show job 2"),
    Entry(1800003725.0, "VM 3 removed", "VM record 3"),
]


def test_earliest_first_with_the_time_since_then_and_the_source():
    lines = render(ENTRIES)
    assert lines[0].split() == ["time", "after", "what", "read", "from"]
    assert [re.sub(r"^\d\d:\d\d:\d\d +", "", line) for line in lines[1:]] == [
        "0:00  job 2 submitted  scontrol show job 2",
        "1:15  job 2 started    scontrol show job 2",
        "62:05  VM 3 removed     VM record 3",
    ]


def test_nothing_happened():
    assert render([]) == []


@given(st.lists(st.builds(Entry, st.floats(1.7e9, 1.9e9), st.text("ab ", min_size=1), st.just("here")), min_size=1))
def test_every_entry_has_its_line(entries):
    lines = render(entries)
    assert len(lines) == len(entries) + 1
    assert all(line.endswith("  here") for line in lines[1:])


def test_missing_steps_are_found_by_how_they_begin():
    assert missing(ENTRIES, ["job 2 started", "VM 3", "node"]) == ["node"]
    assert missing([], ["a"]) == ["a"]
