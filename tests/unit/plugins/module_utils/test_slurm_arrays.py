# SPDX-License-Identifier: GPL-3.0-or-later
"""The waiting tasks of an array."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_arrays import ArrayTasks, parse_array_tasks
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("1-4%2", ArrayTasks(4, 2)),
        ("1-3", ArrayTasks(3)),
        ("1,3,5,7,9%3", ArrayTasks(5, 3)),
        ("1-61:2", ArrayTasks(31)),
        ("1,3,5-9:2%3", ArrayTasks(5, 3)),
        ("[0-4%2]", ArrayTasks(5, 2)),
        ("7", ArrayTasks(1)),
        ("0-9%0", ArrayTasks(10)),
        ("N/A", None),
    ],
)
def test_forms(text, tasks):
    assert parse_array_tasks(text) == tasks


@pytest.mark.parametrize("text", ["1-4,7,...%4", "4-1", "1-5:0", "1-4%", "a", "1,,2"])
def test_a_list_that_was_cut_short_is_refused(text):
    with pytest.raises(SlurmAnswerError):
        parse_array_tasks(text)


@settings(deadline=None)
@given(st.sets(st.integers(0, 5000), min_size=1, max_size=60), st.integers(1, 9))
def test_any_list_is_counted(numbers, throttle):
    assert parse_array_tasks(",".join(map(str, sorted(numbers))) + f"%{throttle}") == ArrayTasks(len(numbers), throttle)


@settings(deadline=None)
@given(st.integers(0, 100), st.one_of(st.none(), st.integers(1, 100)), st.integers(0, 200))
def test_the_throttle_counts_the_running_ones(task_count, throttle, running):
    startable = ArrayTasks(task_count, throttle).startable(running)
    assert 0 <= startable <= task_count
    if throttle is None:
        assert startable == task_count
    elif running >= throttle:
        assert startable == 0
    else:
        assert startable == min(task_count, throttle - running)
