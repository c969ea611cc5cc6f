# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a node's reason and state is somebody else's word, over every combination."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS, GONE_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_foreign_word import (
    ForeignWord,
    foreign_word,
    stands,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import parse_node_record

OURS = sorted({*DRAIN_REASONS, GONE_REASON})
reasons = st.one_of(st.just(""), st.sampled_from(OURS), st.text(st.characters(codec="ascii"), max_size=40))
states = st.builds(
    lambda base, flags: "+".join([base, *sorted(flags)]),
    st.sampled_from(["IDLE", "MIXED", "ALLOCATED", "DOWN"]),
    st.sets(st.sampled_from(["DRAIN", "FAIL", "NOT_RESPONDING", "COMPLETING", "DYNAMIC_NORM"])),
)


def node(state, reason="", user="root"):
    said = f" Reason={reason} [{user}@1796045808]" if reason else ""
    return parse_node_record(f"NodeName=w1 CPUTot=2 RealMemory=900 State={state}{said}")


@given(states, reasons, st.sampled_from(["root", "admin", "slurm"]))
def test_what_is_on_a_node_is_ours_or_is_kept(state, reason, user):
    seen = node(state, reason, user)
    word = foreign_word(seen)
    if seen.reason in OURS:
        assert word is None
    elif word is None:
        is_lost = "DOWN" in state and user == "slurm"
        assert "+DRAIN" not in state
        assert "+FAIL" not in state
        assert not seen.reason or is_lost
    else:
        assert word.reason.isprintable()
        assert word.reason == word.reason.strip(' "') != ""
        assert stands(word, seen)


@given(states, reasons)
def test_a_word_that_is_set_again_stands(state, reason):
    word = foreign_word(node(state, reason, "admin"))
    if word is not None:
        again = node("IDLE+DRAIN+DYNAMIC_NORM" if word.keeps_jobs_off else "IDLE+DYNAMIC_NORM", word.reason)
        assert stands(word, again)
        assert not stands(word, node("IDLE+DYNAMIC_NORM"))


@pytest.mark.parametrize("reason", OURS)
def test_a_drain_of_ours_does_not_stand_for_somebodys(reason):
    assert not stands(ForeignWord("theirs", True), node("IDLE+DRAIN", reason))
