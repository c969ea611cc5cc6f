# SPDX-License-Identifier: GPL-3.0-or-later
"""Host lists."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_hostlist import expand_hostlist


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("w1", ("w1",)),
        ("w[1,3]", ("w1", "w3")),
        ("w[1-3,5]", ("w1", "w2", "w3", "w5")),
        ("ood-worker-[9-11]", ("ood-worker-9", "ood-worker-10", "ood-worker-11")),
        ("n[08-10],gpu1", ("n08", "n09", "n10", "gpu1")),
        ("a[1-2]b[1,3]", ("a1b1", "a1b3", "a2b1", "a2b3")),
        ("a[1-2]-ib,b", ("a1-ib", "a2-ib", "b")),
        ("", ()),
        ("(null)", ()),
        ("None assigned", ()),
    ],
)
def test_lists(text, names):
    assert expand_hostlist(text) == names


@pytest.mark.parametrize("text", ["w[1-", "w[3-1]", "w[a]", "w[1]]", ",w1", "w1,", "w[]", "w[1--2]", "w[1-99999999]"])
def test_anything_else_is_refused(text):
    with pytest.raises(SlurmAnswerError):
        expand_hostlist(text)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9999), min_size=1, max_size=20, unique=True))
def test_any_set_of_numbers(numbers):
    assert expand_hostlist(f"w[{','.join(map(str, numbers))}]") == tuple(f"w{number}" for number in numbers)
