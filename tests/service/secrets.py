# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds secrets in a text, in whatever form they may have got there. Pure: it reads nothing itself."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Fewer bytes could stand in a text by chance.
SHORTEST_BYTES = 12
# A part of a form tells as much as the whole: any run of twice this length is found. Where one byte of the secret may
# take six characters, a part is longer.
PART_BYTES = 16
ESCAPED_PART_BYTES = 48


@dataclass(frozen=True)
class Form:
    """One way to write a secret. part_bytes: so many bytes of it are as good as the whole."""

    name: str
    content: bytes
    part_bytes: int = PART_BYTES


def forms(value: bytes) -> list[Form]:
    """Every form that is looked for, each content once; ValueError for a value that is too short to be told."""
    if len(value) < SHORTEST_BYTES:
        raise ValueError(f"a secret of {len(value)} bytes cannot be told from chance; at least {SHORTEST_BYTES}")
    unique: dict[bytes, Form] = {}
    for form in _all_forms(value):
        unique.setdefault(form.content, form)
    return list(unique.values())


def _all_forms(value: bytes) -> Iterator[Form]:
    yield Form("as it is", value)
    for alignment in range(3):
        aligned = _base64_inside(value, alignment)
        yield Form(f"base64, alignment {alignment}", aligned)
        yield Form(f"urlsafe base64, alignment {alignment}", aligned.translate(bytes.maketrans(b"+/", b"-_")))
    yield Form("hex", value.hex().encode())
    yield Form("capital hex", value.hex().upper().encode())
    latin, unicode = value.decode("latin-1"), value.decode("utf-8", "surrogateescape")
    yield Form("UTF-8 of its bytes", latin.encode())
    for text in (latin, unicode):
        yield Form("JSON", json.dumps(text)[1:-1].encode(), ESCAPED_PART_BYTES)
        yield Form("JSON of Unicode", _encode(json.dumps(text, ensure_ascii=False)[1:-1]), ESCAPED_PART_BYTES)
        yield Form("Python text", _encode(repr(text)[1:-1]), ESCAPED_PART_BYTES)
    yield Form("Python bytes", repr(value)[2:-1].encode(), ESCAPED_PART_BYTES)
    for quote in (urllib.parse.quote, urllib.parse.quote_plus):
        for safe in ("", "/"):
            quoted = quote(value, safe=safe)
            small = re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
            yield Form("URL", quoted.encode(), ESCAPED_PART_BYTES)
            yield Form("URL in small letters", small.encode(), ESCAPED_PART_BYTES)


def _base64_inside(value: bytes, alignment: int) -> bytes:
    """What of a text's base64 shows this value alone, when `alignment` bytes (modulo 3) stand before it in the text.

    The characters that it shares with its neighbours are left out, and so is padding.
    """
    encoded = base64.b64encode(bytes(alignment) + value)
    return encoded[-(-alignment * 8 // 6) : (alignment + len(value)) * 8 // 6]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def unwrapped(text: bytes) -> bytes:
    """Without what wrapping, indenting and quoting put between the characters of a long value."""
    return re.sub(rb"\\[nrt]|[\s\"']", b"", text)


class Scanner:
    """Looks for secrets. Made once, it may look into any number of texts."""

    def __init__(self, secrets: Mapping[str, Sequence[bytes]]):
        """secrets: what each one is called, and the values that it has (a key: its bytes, and the text it travels as).

        ValueError when a value is too short to be told from chance.
        """
        self._wholes: list[tuple[bytes, str]] = []
        self._parts: dict[int, dict[bytes, str]] = {}
        for name, values in secrets.items():
            for form in (form for value in values for form in forms(value)):
                what = f"{name} ({form.name})"
                for content in {form.content, unwrapped(form.content)}:
                    self._add(content, form.part_bytes, what)

    def _add(self, content: bytes, part_bytes: int, what: str) -> None:
        if len(content) < 2 * part_bytes:
            self._wholes.append((content, what))
            return
        parts = self._parts.setdefault(part_bytes, {})
        for start in range(len(content) - part_bytes + 1):
            parts.setdefault(content[start : start + part_bytes], what)

    def findings(self, text: bytes) -> list[str]:
        """Name and form of each secret that the text holds, whole or by a long part; sorted, empty when there is none.

        Of a long form every part is known and every stretch of the text is looked up: a run of twice the length of a
        part holds a whole stretch wherever it begins.
        """
        found = set()
        for view in (text, unwrapped(text)):
            found.update(what for content, what in self._wholes if content in view)
            for part_bytes, parts in self._parts.items():
                for start in range(0, len(view), part_bytes):
                    what = parts.get(view[start : start + part_bytes])
                    if what:
                        found.add(what)
        return sorted(found)
