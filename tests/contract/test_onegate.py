# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated OneGate answers each recorded request as the real one did, with other ids, names and order."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.onegate_replays import REPLAYS, recorded_keys
from tests.contract.recorded import RECORDINGS

OF_ONEGATE = sorted(path.name for path in RECORDINGS.glob("*.json") if not path.name.startswith("oneflow-"))


def test_every_recording_has_a_replay() -> None:
    assert sorted(REPLAYS) == OF_ONEGATE


@pytest.mark.parametrize("file", OF_ONEGATE)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_answers_are_the_recorded_ones(file: str, seed: int) -> None:
    replay = REPLAYS[file](seed)
    assert replay.differences == []
    assert replay.asked == recorded_keys(file), "an exchange has no replay"
