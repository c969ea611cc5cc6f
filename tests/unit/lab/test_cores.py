# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts are spread over the cores."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.lab.cores import choose_core

core_sets = st.sets(st.integers(0, 15), min_size=1, max_size=6)


@given(core_sets, st.integers(1, 30))
def test_hosts_started_in_a_row_go_round(available, hosts):
    used = []
    for _ in range(hosts):
        used.append(choose_core(available, used))
    expected = sorted(available)
    assert used == [expected[index % len(expected)] for index in range(hosts)]


@given(core_sets, st.lists(st.integers(0, 15), max_size=20))
def test_no_available_core_has_fewer_hosts(available, used):
    chosen = choose_core(available, used)
    assert chosen in available
    assert all(used.count(chosen) <= used.count(core) for core in available)
