# SPDX-License-Identifier: GPL-3.0-or-later
"""From measured figures to pass or fail. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

BARE = "bare playbook"
CLIENT = "Python client"
COLD = "worker tick, cold"
WARM = "worker tick, warm"
# The most that a median may be of the bare playbook's median.
RATIO_BARS = {COLD: 1.3, WARM: 0.5}
# With 1,000 workers and 10,000 jobs.
DECISION_BAR_SECONDS = 1.0
DAY_SECONDS = 86400
# From the end of a tick to the next one; its own time is left out.
TICK_SECONDS = 30


@dataclass(frozen=True)
class Cost:
    """What one run took. cpu_seconds: user and system, children included; memory_mib: of its largest process."""

    cpu_seconds: float
    memory_mib: float


@dataclass(frozen=True)
class Row:
    """One line of the table. bar: the highest ratio that passes, None where there is none."""

    name: str
    cpu_seconds: float
    memory_mib: float
    ratio: float
    bar: float | None

    @property
    def passes(self) -> bool:
        """Whether the ratio is within its bar."""
        return self.bar is None or self.ratio <= self.bar

    @property
    def cpu_seconds_per_day(self) -> float:
        """CPU of one VM in a day of ticks."""
        return self.cpu_seconds * DAY_SECONDS / TICK_SECONDS


def rows(costs: Mapping[str, Sequence[Cost]]) -> list[Row]:
    """Medians as multiples of the bare playbook's; ValueError when a measurement that has a bar is missing."""
    missing = [name for name in (BARE, *RATIO_BARS) if not costs.get(name)]
    if missing:
        raise ValueError(f"not measured: {', '.join(missing)}")
    bare = median(cost.cpu_seconds for cost in costs[BARE])
    if bare <= 0:
        raise ValueError(f"the {BARE} took no measurable time")
    found = []
    for name, runs in costs.items():
        cpu = median(cost.cpu_seconds for cost in runs)
        memory = median(cost.memory_mib for cost in runs)
        found.append(Row(name, cpu, memory, cpu / bare, RATIO_BARS.get(name)))
    return found


def complaints(table: Sequence[Row], decision_seconds: float) -> list[str]:
    """A sentence for each bar that is missed."""
    said = [f"{row.name}: {row.ratio:.2f} of the {BARE}, the bar is {row.bar:.2f}" for row in table if not row.passes]
    if decision_seconds > DECISION_BAR_SECONDS:
        said.append(f"the decision took {decision_seconds:.2f} s, the bar is {DECISION_BAR_SECONDS:.2f} s")
    return said


def rendered(table: Sequence[Row]) -> str:
    """The table as text."""
    lines = [f"{'':24}{'CPU ms':>8}{'RSS MiB':>9}{'ratio':>8}{'bar':>6}{'CPU per VM and day':>21}"]
    for row in table:
        bar = "" if row.bar is None else f"{row.bar:.2f}"
        day = f"{row.cpu_seconds_per_day / 60:.1f} min"
        lines.append(
            f"{row.name:24}{row.cpu_seconds * 1000:8.0f}{row.memory_mib:9.0f}{row.ratio:8.2f}{bar:>6}{day:>21}"
        )
    return "\n".join(lines)
