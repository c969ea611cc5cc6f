# SPDX-License-Identifier: GPL-3.0-or-later
"""The recordings as exchanges: a request and the answer of the real server."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"


def load(name: str) -> Any:
    """A recording: JSON as it is, JSON lines and text as a list of lines."""
    text = (RECORDINGS / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text) if name.endswith(".json") else text.splitlines()


@dataclass(frozen=True)
class Exchange:
    """One request and its answer.

    :param key: unique in its file: the case's name, with a number when it comes again.
    :param headers: of the request, as far as they were recorded.
    :param content_type: of the answer; None when it was not recorded, empty when there was none.
    :param response: a decoded JSON body or a text.
    :param details: everything recorded, for what only some files have.
    """

    key: str
    method: str
    target: str
    body: str | None
    status: int
    response: Any
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def exchanges(cases: list[dict[str, Any]]) -> dict[str, Exchange]:
    """Recorded cases by key, in the order they were recorded."""
    seen: Counter[str] = Counter()
    found = {}
    for case in cases:
        name = case.get("case") or f"{case['method']} {case['path']} {case.get('body') or ''}".strip()
        seen[name] += 1
        key = name if seen[name] == 1 else f"{name} {seen[name]}"
        content_type = case.get("content_type")
        if "headers" in case:
            content_type = case["headers"].get("Content-Type", "")
        found[key] = Exchange(
            key=key,
            method=case.get("method", "GET"),
            target=case.get("path", "/vm"),
            body=case.get("request_body", case.get("body")),
            status=case["status"],
            response=case["response"],
            headers=case.get("request_headers", {}),
            content_type=content_type,
            details=case,
        )
    return found
