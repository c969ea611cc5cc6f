# SPDX-License-Identifier: GPL-3.0-or-later
"""One run as an SVG: the queue, each worker and the state of the service over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tests.simulation.monitor import Sample, Violation
from tests.simulation.schedule import Schedule
from tests.simulation.world import SAMPLE_SECONDS, World

WIDTH = 1200
LEFT, RIGHT = 130, 20
QUEUE_HEIGHT = 150
ROW_HEIGHT = 16

#: How a worker stands -> its colour and what it means.
WORKER_COLOURS = {
    "boot": ("#c9d6e8", "boots"),
    "idle": ("#a8d5a2", "idle"),
    "busy": ("#2f7d32", "has jobs"),
    "ours": ("#f2b134", "drained by the pool"),
    "returning": ("#e07b39", "returning"),
    "theirs": ("#8e6bbf", "drained by somebody"),
    "lost": ("#b3261e", "down or silent"),
}
STATE_COLOURS = {
    "RUNNING": "#dff0dc",
    "SCALING": "#cfe2f7",
    "COOLDOWN": "#ececec",
    "WARNING": "#f6c6c3",
    "FAILED_SCALING": "#f1a9a5",
}
WAITING_COLOUR, RUNNING_COLOUR = "#c2185b", "#1565c0"


def picture_of(schedule: Schedule) -> str:
    """Run the schedule and draw it."""
    world = World(schedule, tells=True)
    monitor = world.run()
    return draw(schedule, monitor.samples, monitor.violations)


def draw(schedule: Schedule, samples: Sequence[Sample], violations: Iterable[Violation]) -> str:
    """The SVG's text."""
    names = sorted(
        {name for sample in samples for name, _ in sample.workers}, key=lambda name: int(name.rsplit("-")[-1])
    )
    settings = schedule.settings
    scale = (WIDTH - LEFT - RIGHT) / settings.duration_seconds
    rows_top = 60 + QUEUE_HEIGHT + 30
    height = rows_top + ROW_HEIGHT * (len(names) + 2) + 70

    def x(seconds: float) -> float:
        return round(LEFT + seconds * scale, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        'font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(LEFT, 20, f"Seed {schedule.seed}, {settings.mode}, Slurm {settings.slurm}", size=15),
        _text(
            LEFT,
            38,
            "; ".join(f"{role.name} {role.minimum} to {role.maximum}" for role in settings.roles)
            + f"; idle {settings.idle_seconds} s, interval {settings.interval_seconds} s, "
            f"acting delay {settings.acting_delay_seconds} s, boot {settings.boot_seconds} s",
        ),
    ]
    parts += _queue(samples, x)
    for row, name in enumerate(names):
        top = rows_top + row * ROW_HEIGHT
        parts.append(_text(8, top + 12, name))
        stands = [(sample.seconds, dict(sample.workers).get(name, "")) for sample in samples]
        parts += _bars(stands, {key: colour for key, (colour, _) in WORKER_COLOURS.items()}, x, top, ROW_HEIGHT - 3)
    top = rows_top + len(names) * ROW_HEIGHT + 6
    parts.append(_text(8, top + 12, "service"))
    parts += _bars([(sample.seconds, sample.state) for sample in samples], STATE_COLOURS, x, top, ROW_HEIGHT - 3)
    parts += _axis(settings.duration_seconds, x, top + ROW_HEIGHT + 4)
    for violation in violations:
        where = x(violation.seconds)
        parts.append(
            f'<line x1="{where}" x2="{where}" y1="55" y2="{top + ROW_HEIGHT}" stroke="red" stroke-dasharray="4 2">'
            f"<title>{escape(str(violation))}</title></line>"
        )
    parts += _legend(height - 14)
    return "\n".join([*parts, "</svg>", ""])


def _queue(samples: Sequence[Sample], x) -> list[str]:
    """Waiting and running jobs as steps."""
    highest = max([1, *(sample.waiting for sample in samples), *(sample.running for sample in samples)])
    bottom = 60 + QUEUE_HEIGHT

    def y(jobs: int) -> float:
        return round(bottom - jobs * QUEUE_HEIGHT / highest, 1)

    parts = []
    for jobs in sorted({0, highest // 2, highest}):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(jobs)}" y2="{y(jobs)}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 22, y(jobs) + 4, str(jobs)))
    parts.append(_text(8, bottom - QUEUE_HEIGHT / 2, "jobs"))
    for colour, counts in (
        (RUNNING_COLOUR, [sample.running for sample in samples]),
        (WAITING_COLOUR, [sample.waiting for sample in samples]),
    ):
        points = " ".join(
            f"{x(sample.seconds)},{y(jobs)} {x(sample.seconds + SAMPLE_SECONDS)},{y(jobs)}"
            for sample, jobs in zip(samples, counts, strict=True)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    return parts


def _bars(stands: Sequence[tuple[float, str]], colours: dict[str, str], x, top: float, height: float) -> list[str]:
    """One rectangle for each time that something stood alike."""
    parts = []
    begin = 0
    for index in range(1, len(stands) + 1):
        if index < len(stands) and stands[index][1] == stands[begin][1]:
            continue
        since, how = stands[begin]
        until = stands[index - 1][0] + SAMPLE_SECONDS
        if how:
            parts.append(
                f'<rect x="{x(since)}" y="{top}" width="{round(x(until) - x(since), 1)}" height="{height}" '
                f'fill="{colours.get(how, "#999")}"><title>{escape(how)}, {since:.0f} to {until:.0f} s</title></rect>'
            )
        begin = index
    return parts


def _axis(duration: int, x, top: float) -> list[str]:
    parts = []
    for minutes in range(0, duration // 60 + 1, 10):
        parts.append(f'<line x1="{x(minutes * 60)}" x2="{x(minutes * 60)}" y1="55" y2="{top}" stroke="#0001"/>')
        parts.append(_text(x(minutes * 60) - 8, top + 12, f"{minutes}"))
    parts.append(_text(8, top + 12, "minutes"))
    return parts


def _legend(y: float) -> list[str]:
    parts, left = [], LEFT
    entries = [*WORKER_COLOURS.values(), (WAITING_COLOUR, "jobs waiting"), (RUNNING_COLOUR, "jobs running")]
    for colour, meaning in entries:
        parts.append(f'<rect x="{left}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(left + 14, y, meaning))
        left += 24 + 6.4 * len(meaning)
    return parts


def _text(x: float, y: float, text: str, size: int = 11) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}">{escape(text)}</text>'
