# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparison of an answer with what the recording makes expect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.opennebula.messages import Response


@dataclass(frozen=True)
class Like:
    """Stands for a value that differs from run to run, such as a time: any text of this pattern."""

    pattern: str


@dataclass(frozen=True)
class Expected:
    """The answer that the real server would give in the simulated world.

    :param content_type: None when it was not recorded.
    :param body: a text, or the value of a JSON body.
    """

    status: int
    content_type: str | None
    body: Any


def answer_differences(expected: Expected, answer: Response) -> list[str]:
    """Sentences, none when the answer is the expected one."""
    found = []
    if answer.status != expected.status:
        found.append(f"status {answer.status} instead of {expected.status}")
    if expected.content_type is not None and (answer.content_type or "") != expected.content_type:
        found.append(f"content type {answer.content_type!r} instead of {expected.content_type!r}")
    return found + body_differences(expected.body, answer.body)


def body_differences(expected: Any, body: str) -> list[str]:
    """As :func:`answer_differences`, for the body alone: a text, or JSON as the real server writes it."""
    if isinstance(expected, str):
        return [] if body == expected else [f"body {body!r} instead of {expected!r}"]
    try:
        value = json.loads(body)
    except ValueError:
        return [f"body {body!r} is no JSON"]
    found = list(value_differences(expected, value, "body"))
    if not found and body != json.dumps(value, ensure_ascii=False, separators=(",", ":")):
        found.append("the JSON is written in another form")
    return found


def value_differences(expected: Any, value: Any, where: str) -> Iterator[str]:
    """Differences of two decoded JSON values, the order of members included."""
    if isinstance(expected, Like):
        if not isinstance(value, str) or not re.fullmatch(expected.pattern, value):
            yield f"{where} is {value!r}, which is not like {expected.pattern}"
    elif isinstance(expected, dict) and isinstance(value, dict):
        if list(expected) != list(value):
            yield f"{where} has {list(value)} instead of {list(expected)}"
        for name in expected.keys() & value.keys():
            yield from value_differences(expected[name], value[name], f"{where}.{name}")
    elif isinstance(expected, list) and isinstance(value, list) and len(expected) == len(value):
        for index, (one, other) in enumerate(zip(expected, value, strict=True)):
            yield from value_differences(one, other, f"{where}[{index}]")
    elif type(expected) is not type(value) or expected != value:
        yield f"{where} is {value!r} instead of {expected!r}"
