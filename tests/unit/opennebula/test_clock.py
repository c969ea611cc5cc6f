# SPDX-License-Identifier: GPL-3.0-or-later
"""Both clocks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.opennebula.clock import SystemClock, VirtualClock


def test_virtual_time_runs_timers_in_order_and_at_their_time() -> None:
    clock = VirtualClock(1000)
    seen: list[tuple[str, float]] = []
    clock.call_later(5, lambda: seen.append(("second", clock.now())))

    def first() -> None:
        seen.append(("first", clock.now()))
        clock.call_later(1, lambda: seen.append(("nested", clock.now())))

    clock.call_later(2, first)
    clock.call_later(50, lambda: seen.append(("late", clock.now())))
    clock.advance(10)
    assert seen == [("first", 1002), ("nested", 1003), ("second", 1005)]
    assert clock.now() == 1010


def test_a_cancelled_timer_does_not_run() -> None:
    clock = VirtualClock()
    seen: list[int] = []
    clock.call_later(1, lambda: seen.append(1)).cancel()
    clock.advance(2)
    assert seen == []


def test_virtual_waiting_passes_just_enough_time() -> None:
    clock = VirtualClock(1000)
    seen: list[int] = []
    clock.call_later(7, lambda: seen.append(1))
    assert clock.wait_until(lambda: bool(seen), 100)
    assert clock.now() == 1007
    assert not clock.wait_until(lambda: len(seen) > 1, 3)
    assert clock.now() == 1010


def test_a_failing_timer_fails_the_test() -> None:
    clock = VirtualClock()
    clock.call_later(1, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        clock.advance(2)


@pytest.fixture
def real() -> Iterator[SystemClock]:
    clock = SystemClock()
    clock.start()
    yield clock
    clock.stop()


def test_real_timers_run_in_order_and_a_failing_one_harms_no_other(real: SystemClock) -> None:
    seen: list[str] = []
    real.call_later(0.02, lambda: seen.append("second"))
    real.call_later(0.01, lambda: 1 / 0)
    real.call_later(0, lambda: seen.append("first"))
    assert real.wait_until(lambda: len(seen) == 2, 10)
    assert seen == ["first", "second"]


def test_background_work_does_not_hold_the_lock(real: SystemClock) -> None:
    go, seen = threading.Event(), []
    with real.lock:
        real.background(lambda: go.wait(10), lambda result, error: seen.append((result, error)))
    assert real.lock.acquire(timeout=5)
    real.lock.release()
    assert seen == []
    go.set()
    assert real.wait_until(lambda: bool(seen), 10)
    assert seen == [(True, None)]


@pytest.mark.parametrize("clock", [SystemClock(), VirtualClock()], ids=["real", "virtual"])
def test_a_failure_of_background_work_reaches_its_end(clock: SystemClock | VirtualClock) -> None:
    seen: list[BaseException | None] = []
    clock.background(lambda: 1 / 0, lambda result, error: seen.append(error))
    assert clock.wait_until(lambda: bool(seen), 10)
    assert isinstance(seen[0], ZeroDivisionError)
