# SPDX-License-Identifier: GPL-3.0-or-later
"""Time, timers and the one lock of the simulator.

Everything that touches the simulator's state runs under ``clock.lock``. :class:`SystemClock` is the real thing;
:class:`VirtualClock` lets tests pass hours in milliseconds, in one thread, with the same calls.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

Work = Callable[[], Any]
Done = Callable[[Any, BaseException | None], None]


class Timer:
    """One call that is due at ``due`` (epoch seconds), unless it is cancelled before."""

    def __init__(self, due: float, call: Callable[[], None]) -> None:
        self.due = due
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        """The call does not happen; harmless when it already has."""
        self.cancelled = True


class Clock:
    """What both clocks share: a heap of timers under one re-entrant lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Epoch seconds."""
        raise NotImplementedError

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Run ``call`` under the lock once ``seconds`` have passed."""
        with self.lock:
            timer = Timer(self.now() + max(0.0, seconds), call)
            heapq.heappush(self._timers, (timer.due, next(self._order), timer))
            self.changed.notify_all()
            return timer

    def background(self, work: Work, done: Done) -> None:
        """Run ``work`` outside the lock (it may block), then ``done(result, error)`` under it."""
        raise NotImplementedError

    def wait_until(self, predicate: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until ``predicate`` (called under the lock) holds; False when the time is over."""
        raise NotImplementedError

    def _next_due(self) -> float | None:
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _pop_due(self) -> Timer | None:
        due = self._next_due()
        if due is None or due > self.now():
            return None
        return heapq.heappop(self._timers)[2]


class SystemClock(Clock):
    """Real time: one thread runs the timers, one short-lived thread per background work."""

    def __init__(self) -> None:
        super().__init__()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="timers", daemon=True)

    def now(self) -> float:
        return time.time()

    def start(self) -> None:
        """Start running timers."""
        self._thread.start()

    def stop(self) -> None:
        """Run no timer any more."""
        with self.lock:
            self._stopped = True
            self.changed.notify_all()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def background(self, work: Work, done: Done) -> None:
        def run() -> None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = work()
            except Exception as caught:  # the caller's `done` decides what a failure means
                error = caught
            with self.lock:
                try:
                    done(result, error)
                except Exception:
                    log.exception("the end of a background work failed")
                self.changed.notify_all()

        threading.Thread(target=run, name="background", daemon=True).start()

    def wait_until(self, predicate: Callable[[], bool], timeout_seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(predicate, timeout_seconds)

    def _run(self) -> None:
        with self.changed:
            while not self._stopped:
                timer = self._pop_due()
                if timer is not None:
                    if not timer.cancelled:
                        try:
                            timer.call()
                        except Exception:
                            log.exception("a timer failed")
                        self.changed.notify_all()
                    continue
                due = self._next_due()
                self.changed.wait(None if due is None else max(0.0, due - self.now()))


class VirtualClock(Clock):
    """A test double: time passes only by :meth:`advance` and :meth:`wait_until`, in the calling thread.

    A failing timer raises out of the call that let time pass.
    """

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        super().__init__()
        self._now = float(start)

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass, running every timer at its own time."""
        with self.lock:
            end = self._now + seconds
            while True:
                due = self._next_due()
                if due is None or due > end:
                    break
                self._step(due)
            self._now = end

    def settle(self) -> None:
        """Run what is due now."""
        self.advance(0)

    def background(self, work: Work, done: Done) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = work()
        except Exception as caught:  # the caller's `done` decides what a failure means
            error = caught
        self.call_later(0, lambda: done(result, error))

    def wait_until(self, predicate: Callable[[], bool], timeout_seconds: float) -> bool:
        with self.lock:
            end = self._now + timeout_seconds
            while not predicate():
                due = self._next_due()
                if due is None or due > end:
                    self._now = end
                    return predicate()
                self._step(due)
            return True

    def _step(self, due: float) -> None:
        self._now = max(self._now, due)
        timer = heapq.heappop(self._timers)[2]
        if not timer.cancelled:
            timer.call()
