# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenNebula's template syntax: ``NAME="value"`` and ``NAME=[MEMBER="value",...]``.

The scanner takes the longest match of the rules of its state; characters that no rule matches are skipped without
an error. Both are needed to get the surprising results of the real core.
"""

from __future__ import annotations

import re

Value = str | dict[str, str]


class TemplateSyntaxError(Exception):
    """The text is no template; the core answers with its parser's message."""


_OUTSIDE_VALUE = (
    ("skip", re.compile(r"[ \t]*#.*\n")),
    ("skip", re.compile(r"[ \t\n]+")),
    ("variable", re.compile(r"[A-Za-z0-9_]+")),
    ("equal", re.compile(r"[ \t]*=[ \t]*")),
    ("equal_empty", re.compile(r"[ \t]*=[ \t]*\n")),
    ("comma", re.compile(r"[ \t\n]*,[ \t\n]*")),
    ("closing_bracket", re.compile(r"[ \t\n]*\][ \t\n]*")),
)

_IN_VALUE = (
    ("opening_bracket", re.compile(r"[ \t]*\[[ \t\n]*")),
    ("cdata_end", re.compile(r".*\]\]>.*")),
    ("quoted", re.compile(r'"(?:\\"|[^"])*"')),
    ("bare", re.compile(r"[^=# \t\n,\[\]]+")),
)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    rules = _OUTSIDE_VALUE
    while position < len(text):
        kind, length = "", 0
        for name, pattern in rules:
            match = pattern.match(text, position)
            if match and len(match.group()) > length:
                kind, length = name, len(match.group())
        lexeme = text[position : position + length]
        position += length or 1
        if not length or kind == "skip":
            continue
        if kind == "equal":
            rules = _IN_VALUE
        elif rules is _IN_VALUE:
            rules = _OUTSIDE_VALUE
        if kind == "quoted":
            found.append(("string", lexeme[1:-1]))
        elif kind == "bare":
            found.append(("string", lexeme))
        else:
            found.append((kind, lexeme))
    found.append(("end", ""))
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._position = 0

    def _take(self, *kinds: str) -> tuple[str, str]:
        kind, lexeme = self._tokens[self._position]
        if kind not in kinds:
            expected = " or ".join(kinds)
            raise TemplateSyntaxError(f"Parse error: syntax error, unexpected {kind}, expecting {expected}")
        self._position += 1
        return kind, lexeme

    def _peek(self) -> str:
        return self._tokens[self._position][0]

    def template(self) -> list[tuple[str, Value]]:
        attributes: list[tuple[str, Value]] = []
        while self._peek() != "end":
            attributes.append(self._attribute())
        return attributes

    def _attribute(self) -> tuple[str, Value]:
        name = attribute_name(self._take("variable")[1])
        if self._take("equal", "equal_empty")[0] == "equal_empty":
            return name, ""
        kind, lexeme = self._take("string", "opening_bracket")
        if kind == "string":
            return name, _unescape(lexeme)
        return name, self._members()

    def _members(self) -> dict[str, str]:
        members: dict[str, str] = {}
        if self._peek() != "closing_bracket":
            self._member(members)
            while self._peek() == "comma":
                self._take("comma")
                self._member(members)
        self._take("closing_bracket")
        return members

    def _member(self, members: dict[str, str]) -> None:
        name = self._take("variable")[1].upper()
        self._take("equal")
        # the first of two members with one name stays
        members.setdefault(name, _unescape(self._take("string")[1]))


def _unescape(value: str) -> str:
    return value.replace('\\"', '"')


def attribute_name(name: str) -> str:
    """Names are stored in upper case; one that starts with a digit could be no XML element and gets a prefix."""
    upper = name.upper()
    return "ONE_" + upper if upper[:1].isdigit() else upper


def parse_template(text: str) -> list[tuple[str, Value]]:
    """Attributes in the order of the text, one name possibly several times.

    :raises TemplateSyntaxError: when the text is no template.
    """
    return _Parser(text).template()
