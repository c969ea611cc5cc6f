# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Flat records of numbers in a memory file."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Callable, TypeVar

Record = TypeVar("Record")


def is_of(kind: type, value: object) -> bool:
    """The value is of that type; a truth value is no number here."""
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


def record_from_json(kind: Callable[..., Record], data: object) -> Record:
    """The record (a dataclass whose fields all have defaults) that asdict() made.

    A field counts only with a value of its default's type, or a whole number where the default is None; any other
    keeps its default.
    """
    given = data if isinstance(data, dict) else {}
    values = {}
    for field in fields(kind):
        value = given.get(field.name, MISSING)
        if is_of(int if field.default is None else type(field.default), value):
            values[field.name] = value
    return kind(**values)


def records_from_json(kind: Callable[..., Record], data: object) -> dict[str, Record]:
    """Name to record."""
    given = data if isinstance(data, dict) else {}
    return {str(name): record_from_json(kind, value) for name, value in given.items()}
