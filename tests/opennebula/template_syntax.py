# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenNebula's template syntax: ``NAME="value"`` and ``NAME=[MEMBER="value",...]``.

The scanner takes the longest match of the rules of its state; characters that no rule matches are skipped without
an error. Both are needed to get the surprising results of the real core.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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


#: The parser's names of tokens in its messages.
_SHOWN_KINDS = {
    "variable": "VARIABLE",
    "equal": "EQUAL",
    "equal_empty": "EQUAL_EMPTY",
    "comma": "COMMA",
    "opening_bracket": "OBRACKET",
    "closing_bracket": "CBRACKET",
    "cdata_end": "CCDATA",
    "string": "STRING",
    "end": "$end",
}

#: The core never sets it; this is what it showed when it was recorded.
_SHOWN_LINE = 1092628512


@dataclass(frozen=True)
class _Token:
    kind: str
    lexeme: str
    #: In bytes from 1; the second is behind its end.
    columns: tuple[int, int]


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    columns = (1, 1)
    rules = _OUTSIDE_VALUE
    while position < len(text):
        kind, length = "", 0
        for name, pattern in rules:
            match = pattern.match(text, position)
            if match and len(match.group()) > length:
                kind, length = name, len(match.group())
        lexeme = text[position : position + (length or 1)]
        position += length or 1
        columns = columns[1], columns[1] + len(lexeme.encode(errors="surrogateescape"))
        if not length or kind == "skip":
            continue
        if kind == "equal":
            rules = _IN_VALUE
        elif rules is _IN_VALUE:
            rules = _OUTSIDE_VALUE
        if kind == "quoted":
            found.append(_Token("string", lexeme[1:-1], columns))
        elif kind == "bare":
            found.append(_Token("string", lexeme, columns))
        else:
            found.append(_Token(kind, lexeme, columns))
    found.append(_Token("end", "", columns))
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._position = 0

    def _take(self, *kinds: str) -> _Token:
        token = self._tokens[self._position]
        if token.kind not in kinds:
            expected = " or ".join(_SHOWN_KINDS[kind] for kind in kinds)
            raise TemplateSyntaxError(
                f"Parse error: syntax error, unexpected {_SHOWN_KINDS[token.kind]}, expecting {expected} "
                f"at line {_SHOWN_LINE}, columns {token.columns[0]}:{token.columns[1]}"
            )
        self._position += 1
        return token

    def _peek(self) -> str:
        return self._tokens[self._position].kind

    def template(self) -> list[tuple[str, Value]]:
        attributes: list[tuple[str, Value]] = []
        while self._peek() == "variable" or (not attributes and self._peek() != "end"):
            attributes.append(self._attribute())
        self._take("end")
        return attributes

    def _attribute(self) -> tuple[str, Value]:
        name = attribute_name(self._take("variable").lexeme)
        if self._take("equal", "equal_empty").kind == "equal_empty":
            return name, ""
        token = self._take("opening_bracket", "string")
        if token.kind == "string":
            return name, _unescape(token.lexeme)
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
        name = self._take("variable").lexeme.upper()
        self._take("equal")
        # the first of two members with one name stays
        members.setdefault(name, _unescape(self._take("string").lexeme))


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
