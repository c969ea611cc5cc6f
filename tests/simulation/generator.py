# SPDX-License-Identifier: GPL-3.0-or-later
"""A schedule from a seed: settings of a pool and at least thirty events in two hours."""

from __future__ import annotations

from random import Random

from tests.simulation.schedule import (
    AFTER_DRAIN,
    AFTER_IDLE,
    AFTER_READING,
    AFTER_RETURN,
    AT_TIME,
    BEFORE_CHANGE,
    DIRECT,
    IN_CHANGE,
    POLICIES,
    Event,
    RoleSettings,
    Schedule,
    Settings,
)

FEWEST_EVENTS = 30
DURATION_SECONDS = 7200


def schedule_from_seed(seed: int, mode: str | None = None) -> Schedule:
    """The same schedule for the same seed; ``mode``: instead of the one that the seed gives."""
    random = Random(seed)
    settings = _settings(random, mode or random.choice(MODES))
    events = _Events(random, settings)
    return Schedule(seed, settings, events.make())


#: The modes that a seed may give.
MODES = (POLICIES, POLICIES, DIRECT)


def _settings(random: Random, mode: str) -> Settings:
    minimum = random.choice((1, 1, 1, 2))
    roles = []
    for index in range(random.choice((1, 1, 2))):
        maximum = random.randint(minimum + 1, 6 if index == 0 else 4)
        start = random.randint(minimum, maximum)
        cpus, memory = ((2, 3686), (8, 14746))[index]
        roles.append(RoleSettings(("worker", "worker_big")[index], start, minimum, maximum, cpus, memory))
    return Settings(
        mode=mode,
        slurm=random.choice(("22.05", "24.11")),
        roles=tuple(roles),
        interval_seconds=random.choice((30, 30, 90)),
        acting_delay_seconds=random.choice((0, 0, 5, 20, 60)),
        idle_seconds=random.choice((120, 180, 300, 600)),
        drain_seconds=600,
        boot_seconds=random.choice((30, 50, 90, 150)),
        duration_seconds=DURATION_SECONDS,
    )


class _Events:
    def __init__(self, random: Random, settings: Settings) -> None:
        self._random = random
        self._settings = settings
        self._events: list[Event] = []
        self._keys = 0

    def make(self) -> tuple[Event, ...]:
        random = self._random
        for _ in range(random.randint(3, 6)):
            self._burst(random.uniform(0, DURATION_SECONDS - 1200))
        for _ in range(random.randint(6, 11)):
            self._job_at_a_moment()
        for _ in range(random.randint(4, 9)):
            self._trouble()
        self._narrow_moments()
        while len(self._events) < FEWEST_EVENTS:
            self._job(random.uniform(0, DURATION_SECONDS - 900))
        return tuple(sorted(self._events, key=lambda event: event.at))

    def _add(self, at: float, what: str, after: str = AT_TIME, delay: float = 0.0, **arguments) -> None:
        self._events.append(Event(round(at, 1), what, arguments, after, round(delay, 1)))

    def _burst(self, at: float) -> None:
        for _ in range(self._random.randint(1, 5)):
            self._job(at + self._random.expovariate(1 / 20))

    def _job(self, at: float, after: str = AT_TIME, delay: float = 0.0, is_plain: bool = False) -> None:
        """A job, and sometimes what a user does with it later. ``is_plain``: one that takes a worker of any role."""
        random = self._random
        key = self._keys
        self._keys += 1
        two_roles = len(self._settings.roles) == 2
        request: dict = {"key": key, "seconds": round(random.choice((60, 200, 500, 900)) * random.uniform(0.5, 1.5), 1)}
        kind = random.random()
        if is_plain:
            self._add(at, "submit", after, delay, **request, exclusive=True)
            return
        if kind < 0.45:
            request["cpus"] = random.choice((1, 2))
        elif kind < 0.6:
            request["exclusive"] = True
        elif kind < 0.7:
            request.update(nodes=random.choice((2, 2, 3, 4)), cpus=random.choice((1, 2)))
        elif kind < 0.85:
            request.update(tasks=random.randint(2, 5), throttle=random.choice((None, 1, 2)), cpus=2)
        elif kind < 0.89:
            request["on"] = random.randint(0, 3)
        elif kind < 0.92:
            request["cpus"] = 64
        elif kind < 0.95:
            request["begin"] = round(random.uniform(60, 900), 1)
        elif kind < 0.98 and key:
            request["depends_on"] = random.randrange(key)
        else:
            request["memory"] = None
        if two_roles and random.random() < 0.6:
            request["role"] = random.randrange(2)
            if request["role"] == 1 and request.get("cpus") == 2:
                request["cpus"] = 8
        self._add(at, "submit", after, delay, **request)
        if after == AT_TIME and random.random() < 0.25:
            self._what_a_user_does(at, key)

    def _what_a_user_does(self, at: float, key: int) -> None:
        random = self._random
        later = at + random.uniform(1, 400)
        what = random.choice(("cancel", "cancel", "hold", "suspend"))
        if what == "cancel":
            self._add(later, "cancel", key=key)
        elif what == "suspend":
            self._add(later, "suspend", key=key, seconds=round(random.uniform(30, 900), 1))
        else:
            self._add(later, "hold", key=key, by=random.choice(("User", "Admin")))
            self._add(later + random.uniform(20, 600), "release", key=key)

    def _job_at_a_moment(self) -> None:
        random = self._random
        after = random.choice(
            (AFTER_DRAIN, AFTER_DRAIN, AFTER_IDLE, AFTER_IDLE, AFTER_READING, AFTER_RETURN, BEFORE_CHANGE)
        )
        delay = random.choice((0.0, random.uniform(0, 3), random.uniform(0, 60), random.uniform(0, 120)))
        self._job(random.uniform(0, DURATION_SECONDS - 1500), after, delay, is_plain=random.random() < 0.6)

    def _narrow_moments(self) -> None:
        """What rarely happens by itself, and what the pool's guards are there for."""
        random = self._random
        reading = self._settings.interval_seconds + self._settings.acting_delay_seconds

        def at() -> float:
            return random.uniform(0, DURATION_SECONDS - 1800)

        def job(seconds: float) -> dict:
            self._keys += 1
            return {"key": self._keys, "seconds": round(seconds, 1)}

        for _ in range(2):
            # right after the second reading of OneFlow, which acts on it a little later
            self._add(
                at(), "submit_wide", AFTER_READING, reading + random.uniform(0, 4), **job(random.uniform(60, 600))
            )
        if random.random() < 0.5:
            self._add(at(), "squeeze", IN_CHANGE, **job(random.uniform(300, 900)))
        if random.random() < 0.5:
            begin = at()
            self._add(begin, "submit", **job(random.uniform(900, 1800)), exclusive=True)
            self._add(begin + 30, "submit_wide", **job(random.uniform(60, 300)))
        if random.random() < 0.15:
            self._add(at(), "power_cycle", AFTER_DRAIN, random.uniform(0, 20), worker=5, seconds=500, other=True)

    def _trouble(self) -> None:
        random = self._random
        at = random.uniform(0, DURATION_SECONDS - 1200)
        worker = {"worker": random.randint(0, 5), "role": random.randrange(2)}
        short, long = round(random.uniform(20, 120), 1), round(random.uniform(90, 600), 1)
        kinds = ("500", "garbage", "nothing", "lost")
        moment = random.choice((AFTER_DRAIN, AFTER_IDLE, AFTER_READING))
        delay = random.uniform(0, 60)
        choice = random.choices(range(len(_WEIGHTS)), _WEIGHTS)[0]
        match choice:
            case 0:
                self._add(at, "boot_fails")
            case 1:
                self._add(at, "boot_hangs")
            case 2:
                self._add(at, "boot_slow", seconds=round(random.uniform(120, 700), 1))
            case 3:
                self._add(at, "report_stops", seconds=long, **worker)
            case 4:
                self._add(at, "skip_ticks", count=random.randint(1, 4), **worker)
            case 5:
                self._add(at, "skip_portal_ticks", count=random.randint(1, 6))
            case 6:
                self._add(at, "pause_controller", seconds=random.choice((short, long)))
            case 7:
                self._add(at, "gate_fails", kind=random.choice(kinds), seconds=short)
            case 8:
                self._add(
                    at, "gate_fails", moment, delay, kind=random.choice(kinds), seconds=random.choice((short, long))
                )
            case 9:
                self._add(at, "gate_fails", kind=random.choice(kinds), seconds=long, worker=worker["worker"])
            case 10:
                self._add(at, "drain", seconds=long, **worker)
            case 11:
                self._add(
                    at,
                    "drain",
                    random.choice((BEFORE_CHANGE, AFTER_DRAIN)),
                    random.uniform(0, 1),
                    seconds=long,
                    **worker,
                )
            case 12:
                self._add(at, "undrain", random.choice((AFTER_DRAIN, AFTER_IDLE)), delay, **worker)
            case 13:
                self._add(at, "kill", **worker)
            case 14:
                self._add(at, "terminate", **worker)
            case 15:
                self._add(
                    at, "terminate", random.choice((AFTER_IDLE, AFTER_READING)), delay, worker=0, role=worker["role"]
                )
            case 16:
                self._add(at, "power_cycle", seconds=long, **worker)
            case 17:
                self._add(at, "cut_off", seconds=random.choice((short, long)), **worker)
            case 18:
                self._add(at, "forget", garbled=random.random() < 0.3, **worker)
            case 19:
                self._add(at, "stop_oneflow", seconds=long)
            case 20:
                self._add(at, "stop_autoscaler", seconds=round(random.uniform(300, 1500), 1))
            case 21:
                self._add(at, "scale", cardinality=random.randint(1, 6), role=worker["role"])
            case 22:
                self._add(at, "unlist", seconds=round(random.uniform(40, 400), 1), **worker)
            case 23:
                self._add(at, "blink", **worker)
            case 24:
                self._add(at, "lose_suspended", key=random.randrange(max(1, self._keys)), by_hand=random.random() < 0.7)
            case _:
                self._add(at, "gate_fails", AFTER_IDLE, delay, kind="500", seconds=round(random.uniform(400, 900), 1))


#: How often each trouble of ``_trouble`` comes, in its order.
_WEIGHTS = (6, 4, 4, 10, 6, 4, 6, 6, 5, 5, 6, 4, 4, 4, 4, 2, 3, 5, 5, 3, 2, 2, 5, 5, 5, 1)
