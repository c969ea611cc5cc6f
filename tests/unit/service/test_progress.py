# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting returns what it waited for, says since when, and ends in time."""

from __future__ import annotations

import pytest

from tests.service.progress import Clock, NotYet, Progress, ServiceError


class FakeTime:
    """Passes only while somebody pauses."""

    def __init__(self):
        self.seconds = 1000.0
        self.pauses = []

    def now(self):
        return self.seconds

    def pause(self, seconds):
        assert seconds > 0
        self.pauses.append(seconds)
        self.seconds += seconds


@pytest.fixture
def time():
    return FakeTime()


@pytest.fixture
def lines():
    return []


@pytest.fixture
def progress(time, lines):
    return Progress(say=lines.append, clock=Clock(time.now, time.pause))


def test_what_is_there_at_once_is_returned_without_a_pause(progress, time, lines):
    assert progress.wait_for("the portal", lambda: "vm 1", timeout_seconds=60) == "vm 1"
    assert time.pauses == []
    assert lines == ["[ 0:00] waiting for the portal (at most 60 s)", "[ 0:00] the portal: there after 0 s"]


def test_it_waits_until_the_reading_is_true_and_says_since_when(progress, time, lines):
    def read():
        if time.seconds < 1065:
            raise NotYet("still booting")
        return ["vm 1"]

    assert progress.wait_for("the portal", read, timeout_seconds=90, poll_seconds=5) == ["vm 1"]
    assert time.seconds == 1065
    assert lines[1:] == [
        "[ 0:20]   still waiting for the portal, for 20 s now: still booting",
        "[ 0:40]   still waiting for the portal, for 40 s now: still booting",
        "[ 1:00]   still waiting for the portal, for 60 s now: still booting",
        "[ 1:05] the portal: there after 65 s",
    ]


@pytest.mark.parametrize(("timeout", "poll"), [(60, 7), (60, 60), (5, 60)])
def test_it_gives_up_when_the_time_is_over_and_names_the_last_detail(progress, time, timeout, poll):
    def read():
        raise NotYet(f"at {time.seconds:.0f}")

    with pytest.raises(ServiceError) as raised:
        progress.wait_for("the portal", read, timeout_seconds=timeout, poll_seconds=poll)
    assert str(raised.value) == f"waited {timeout} s for the portal, in vain. Last seen: at {1000 + timeout}."
    assert time.seconds == 1000 + timeout


def test_a_last_reading_at_the_very_end_still_counts(progress, time):
    assert progress.wait_for("it", lambda: time.seconds >= 1010, timeout_seconds=10, poll_seconds=4)


def test_what_the_watch_raises_ends_the_wait_before_the_next_reading(progress, time):
    def watch():
        if time.seconds >= 1006:
            raise ServiceError("host vm-1 died")

    def read():
        assert time.seconds < 1006

    progress.watch = watch
    with pytest.raises(ServiceError, match="vm-1 died"):
        progress.wait_for("it", read, timeout_seconds=60, poll_seconds=3)
    assert time.seconds == 1006


def test_other_errors_of_a_reading_are_not_swallowed(progress):
    with pytest.raises(ZeroDivisionError):
        progress.wait_for("it", lambda: 1 / 0, timeout_seconds=60)
