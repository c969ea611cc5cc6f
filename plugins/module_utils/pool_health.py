# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether a worker is healthy, from what its probes found. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True)
class ProbeOutcome:
    """subject: what was probed. failure: what is wrong with it, as a clause; "" when it is ready."""

    subject: str
    failure: str = ""


@dataclass(frozen=True)
class Health:
    """sentence: what is not ready, "" when everything is."""

    is_healthy: bool
    sentence: str = ""


def judge_health(outcomes: Iterable[ProbeOutcome]) -> Health:
    """Healthy is a worker all of whose probes found their subject ready; without any probe nothing is known."""
    outcomes = tuple(outcomes)
    failures = [f"{outcome.subject}: {outcome.failure.rstrip('.')}" for outcome in outcomes if outcome.failure]
    if failures:
        return Health(False, f"Not healthy: {'; '.join(failures)}.")
    return Health(bool(outcomes), "" if outcomes else "Not healthy: nothing was probed.")
