# SPDX-License-Identifier: GPL-3.0-or-later
"""From a failing schedule to a short one that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulation.schedule import Event, Schedule
from tests.simulation.world import World

Fails = Callable[[Schedule], bool]


def fails_like(what: str) -> Fails:
    """Whether a schedule violates the same rule."""

    def fails(schedule: Schedule) -> bool:
        return any(violation.what == what for violation in World(schedule).run().violations)

    return fails


def shrink(schedule: Schedule, fails: Fails) -> Schedule:
    """The schedule without the events and settings that the failure does not need.

    :param fails: holds for ``schedule``.
    """
    schedule = replace(schedule, events=_fewest(schedule, fails))
    for settings in _simpler_settings(schedule):
        simpler = replace(schedule, settings=settings)
        if fails(simpler):
            schedule = simpler
    return replace(schedule, events=_fewest(schedule, fails))


def _fewest(schedule: Schedule, fails: Fails) -> tuple[Event, ...]:
    """Take away ever smaller parts of the list until no single event can go."""
    events: Sequence[Event] = schedule.events
    size = max(1, len(events) // 2)
    while True:
        begin, removed = 0, False
        while begin < len(events):
            rest = (*events[:begin], *events[begin + size :])
            if fails(replace(schedule, events=rest)):
                events, removed = rest, True
            else:
                begin += size
        if size > 1:
            size //= 2
        elif not removed:
            return tuple(events)


def _simpler_settings(schedule: Schedule):
    """Each with one thing less, from what the schedule has now."""
    settings = schedule.settings
    if len(settings.roles) > 1:
        for role in settings.roles:
            yield replace(settings, roles=(role,))
    if settings.acting_delay_seconds:
        yield replace(settings, acting_delay_seconds=0)
    if settings.slurm != "24.11":
        yield replace(settings, slurm="24.11")


def story_of(schedule: Schedule) -> str:
    """The run, line by line, with what was violated."""
    world = World(schedule, tells=True)
    world.run()
    lines = [f"seed {schedule.seed}, {schedule.settings}"]
    lines += [f"{seconds:8.1f} {text}" for seconds, text in world.story]
    return "\n".join(lines)
