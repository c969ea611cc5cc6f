# SPDX-License-Identifier: GPL-3.0-or-later
"""A slice of `make simulate`: some schedules hold, some guards are missed, and what is told of a run is right."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulation import guard_runs, guards, runs
from tests.simulation.comparison import BOOT_SECONDS, burst
from tests.simulation.generator import FEWEST_EVENTS, schedule_from_seed
from tests.simulation.picture import draw
from tests.simulation.schedule import DIRECT, POLICIES, Event, RoleSettings, Schedule, Settings
from tests.simulation.shrinking import fails_like, shrink
from tests.simulation.world import World

SEEDS = range(20_000, 20_014)


def test_schedules_hold():
    outcome = runs.run_seeds(SEEDS)
    assert outcome.failures == []
    assert outcome.counts["drains"] > len(SEEDS)
    assert outcome.counts["scale-downs"] > len(SEEDS) / 2


def test_a_seed_gives_the_same_run_each_time():
    first, second = (World(schedule_from_seed(7), tells=True) for _ in range(2))
    assert (first.run().counts, first.story) == (second.run().counts, second.story)


def test_a_schedule_has_its_thirty_events_and_its_two_hours():
    for seed in range(200):
        schedule = schedule_from_seed(seed)
        assert len(schedule.events) >= FEWEST_EVENTS
        assert schedule.settings.duration_seconds == 7200
        assert all(1 <= role.minimum <= role.start <= role.maximum <= 6 for role in schedule.settings.roles)


@pytest.mark.parametrize("name", ["idle clock", "minimum", "direct: idle clock"])
def test_a_guard_switched_off_is_missed(name):
    index = [guard.name for guard in guards.GUARDS].index(name)
    assert any(guard_runs.failures_without(index, seed, 1) for seed in range(6))


def test_a_guard_is_on_again_afterwards():
    before = {guard.name: vars(guards.RoleView)["is_above_minimum"] for guard in guards.GUARDS}
    for guard in guards.GUARDS:
        with guard.off():
            pass
        assert vars(guards.RoleView)["is_above_minimum"] is before[guard.name]


def test_a_failure_shrinks_to_what_it_needs():
    """Without its idle clock a pool drains at once: nothing that happens is needed for that."""
    (guard,) = (guard for guard in guards.GUARDS if guard.name == "idle clock")
    with guard.off():
        schedule = schedule_from_seed(4, POLICIES)
        violation = World(schedule).run().violations[0]
        short = shrink(schedule, fails_like(violation.what))
    assert len(short.events) < 4


def test_ranges_that_were_run_are_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RANGE", 1)
    said: list[str] = []
    progress = tmp_path / "progress.jsonl"
    first = runs.run_ranges(0, 2, progress, said.append, processes=1)
    assert len(progress.read_text().splitlines()) == first.schedules == 2
    again = runs.run_ranges(0, 2, progress, said.append, processes=1)
    assert said[-1] == "2 schedules were run before"
    assert again.counts == first.counts


def test_the_picture_is_a_picture():
    schedule = schedule_from_seed(3)
    world = World(schedule, tells=True)
    monitor = world.run()
    root = ElementTree.fromstring(draw(schedule, monitor.samples, monitor.violations))
    assert root.tag.endswith("svg")
    titles = [element.text or "" for element in root.iter() if element.tag.endswith("title")]
    assert any(title.startswith("busy") for title in titles)


def test_direct_starts_a_burst_after_one_boot():
    seconds = burst(DIRECT).last_start_seconds
    assert seconds is not None
    assert seconds <= BOOT_SECONDS + 60


JOBS = st.builds(
    lambda at, seconds, key: Event(at, "submit", {"key": key, "seconds": seconds, "exclusive": True}),
    at=st.integers(0, 2000),
    seconds=st.integers(10, 900),
    key=st.integers(0, 9),
)
TROUBLES = st.one_of(
    st.builds(
        lambda at, seconds, kind: Event(at, "gate_fails", {"kind": kind, "seconds": seconds}),
        at=st.integers(0, 2000),
        seconds=st.integers(10, 120),
        kind=st.sampled_from(["500", "garbage", "nothing", "lost"]),
    ),
    st.builds(
        lambda at, seconds, worker: Event(at, "drain", {"seconds": seconds, "worker": worker}),
        at=st.integers(0, 2000),
        seconds=st.integers(10, 600),
        worker=st.integers(0, 3),
    ),
    st.builds(
        lambda at, seconds: Event(at, "pause_controller", {"seconds": seconds}),
        at=st.integers(0, 2000),
        seconds=st.integers(10, 300),
    ),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    events=st.lists(st.one_of(JOBS, TROUBLES), max_size=12),
    mode=st.sampled_from([POLICIES, DIRECT]),
    delay=st.sampled_from([0, 30, 60]),
)
def test_no_story_that_hypothesis_can_tell_breaks_a_rule(events, mode, delay):
    chosen = Settings(
        mode=mode,
        roles=(RoleSettings("worker", 2, 1, 3),),
        acting_delay_seconds=delay,
        idle_seconds=120,
        duration_seconds=2400,
    )
    ordered = tuple(sorted(events, key=lambda event: event.at))
    assert World(Schedule(1, chosen, ordered)).run().violations == []
