# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Gauges in Prometheus' text format, as the node exporter's textfile collector takes it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Mapping


@dataclass(frozen=True)
class Sample:
    """One value and the labels that tell it from the others of its metric."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gauge:
    """A metric with all its samples; what: one sentence for people, which must not differ from file to file."""

    name: str
    what: str
    samples: tuple[Sample, ...]


def exposition(gauges: Iterable[Gauge]) -> str:
    """The text, in an order that depends on names and labels alone. A gauge without samples is left out."""
    return "".join(_block(gauge) for gauge in sorted(gauges, key=lambda gauge: gauge.name) if gauge.samples)


def _block(gauge: Gauge) -> str:
    samples = sorted(f"{gauge.name}{_labels(sample.labels)} {_number(sample.value)}" for sample in gauge.samples)
    what = gauge.what.replace("\\", "\\\\").replace("\n", "\\n")
    return "\n".join([f"# HELP {gauge.name} {what}", f"# TYPE {gauge.name} gauge", *samples, ""])


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items()))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
