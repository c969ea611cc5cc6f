# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gates say at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class GateResult:
    """A gate that was passed; counted: how much of what it has looked at, such as "24 tests"."""

    gate: str
    version: str
    counted: str


def table(results: Sequence[GateResult]) -> list[str]:
    """Lines of aligned columns, with a heading."""
    rows = [("gate", "version", "what it counted"), *((r.gate, r.version, r.counted) for r in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return [f"{gate:{widths[0]}}  {version:{widths[1]}}  {counted}" for gate, version, counted in rows]
