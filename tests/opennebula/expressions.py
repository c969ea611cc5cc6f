# SPDX-License-Identifier: GPL-3.0-or-later
"""The expressions of elasticity policies: ``SLURM_PENDING > 0``, ``A > 1 && !(B <= 0.5)``.

A parsing expression grammar without memory: alternatives are tried in order, the whole text must be used up, and
``&``, ``|`` group to the right without precedence. A failure names every terminal that was tried at the rightmost
position any of them reached, in the order of trying, because OneFlow's answer to a bad template shows just that.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Number = int | float

#: Gives an attribute's value for the role, None when no VM has it.
Lookup = Callable[[str], float | None]


class ExpressionError(Exception):
    """The text is no expression; the message is OneFlow's ``Expected ... at line 1, column N``."""


@dataclass(frozen=True)
class Operand:
    """A number, or a name in upper case. A quoted name keeps its quotes, so that no VM ever has it."""

    number: Number | None = None
    name: str = ""

    def result(self, lookup: Lookup) -> tuple[Number | None, str]:
        if self.number is not None:
            return self.number, format_number(self.number)
        value = lookup(self.name)
        return value, f"{self.name}[--]" if value is None else f"{self.name}[{format_number(value)}]"


@dataclass(frozen=True)
class Comparison:
    """Two operands and one of ``== = != <> >= > <= <``; false when one of them has no value, also for ``!=``."""

    left: Operand
    operator: str
    right: Operand

    def result(self, lookup: Lookup) -> tuple[bool, str]:
        left, left_text = self.left.result(lookup)
        right, right_text = self.right.result(lookup)
        value = left is not None and right is not None and compare(left, self.operator, right)
        return value, f"{left_text} {self.operator} {right_text}"


@dataclass(frozen=True)
class Not:
    """``!`` and everything right of it."""

    inner: Expression

    def result(self, lookup: Lookup) -> tuple[bool, str]:
        value, text = self.inner.result(lookup)
        return not value, f"!{text}"


@dataclass(frozen=True)
class Group:
    """An expression in parentheses."""

    inner: Expression

    def result(self, lookup: Lookup) -> tuple[bool, str]:
        value, text = self.inner.result(lookup)
        return value, f"({text})"


@dataclass(frozen=True)
class Logical:
    """A condition, ``&&``, ``&``, ``||`` or ``|``, and the expression right of it."""

    left: Expression
    operator: str
    right: Expression

    def result(self, lookup: Lookup) -> tuple[bool, str]:
        left, left_text = self.left.result(lookup)
        right, right_text = self.right.result(lookup)
        value = left and right if self.operator.startswith("&") else left or right
        return value, f"{left_text} {self.operator} {right_text}"


Expression = Comparison | Not | Group | Logical


def compare(left: Number, operator: str, right: Number) -> bool:
    """``left operator right`` for one of the grammar's comparison operators."""
    if operator in ("==", "="):
        return left == right
    if operator in ("!=", "<>"):
        return left != right
    if operator == ">=":
        return left >= right
    if operator == ">":
        return left > right
    if operator == "<=":
        return left <= right
    return left < right


def format_number(number: Number) -> str:
    """A number as OneFlow prints it: a float keeps at least one decimal (``1.0``, ``2.5``, ``1.0e+16``)."""
    text = repr(number)
    if isinstance(number, float) and "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return text


def _remembered(rule: Callable[[_Parser], Any]) -> Callable[[_Parser], Any]:
    """Each rule is tried once at each position: a second try gives the same result and names nothing as expected."""
    name = rule.__name__

    def once(self: _Parser) -> Any:
        start = self.index
        if (name, start) not in self.memory:
            found = rule(self)
            if found is None:
                self.index = start
            self.memory[name, start] = found, self.index
        found, self.index = self.memory[name, start]
        return found

    return once


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.memory: dict[tuple[str, int], tuple[Any, int]] = {}
        self._furthest = 0
        self._expected: list[str] = []

    def parse(self) -> Expression:
        expression = self._expression()
        if expression is None or self.index != len(self.text):
            raise ExpressionError(self._failure())
        return expression

    def _failure(self) -> str:
        expected = ", ".join(dict.fromkeys(self._expected))
        wanted = expected if len(self._expected) == 1 else f"one of {expected}"
        # no terminal takes a newline, so that it is always line 1
        place = f"line 1, column {self._furthest + 1} (byte {self._furthest + 1})"
        after = f" after {self.text[self.index : self._furthest]}" if self._furthest else ""
        return f"Expected {wanted} at {place}{after}"

    def _terminal(self, pattern: str, shown: str) -> str | None:
        match = re.compile(pattern).match(self.text, self.index)
        if match:
            self.index = match.end()
            return match.group()
        if self.index > self._furthest:
            self._furthest = self.index
            self._expected = []
        if self.index == self._furthest:
            self._expected.append(shown)
        return None

    def _literal(self, text: str) -> str | None:
        return self._terminal(re.escape(text), "'\\''" if text == "'" else f"'{text}'")

    def _first_literal(self, *texts: str) -> str | None:
        return next((text for text in texts if self._literal(text)), None)

    def _many(self, characters: str) -> str:
        """Characters of a class, shown as the class itself."""
        found = ""
        while (character := self._terminal(characters, characters)) is not None:
            found += character
        return found

    @_remembered
    def _space(self) -> str:
        found = ""
        while (character := self._literal(" ")) is not None:
            found += character
        return found

    @_remembered
    def _expression(self) -> Expression | None:
        self._space()
        found = self._logical() or self._condition()
        if found is not None:
            self._space()
        return found

    @_remembered
    def _logical(self) -> Expression | None:
        return self._logical_with("&&", "&") or self._logical_with("||", "|")

    def _logical_with(self, *operators: str) -> Expression | None:
        start = self.index
        left = self._condition()
        if left is not None:
            self._space()
            operator = self._first_literal(*operators)
            if operator:
                self._space()
                right = self._expression()
                if right is not None:
                    return Logical(left, operator, right)
        self.index = start
        return None

    @_remembered
    def _condition(self) -> Expression | None:
        return self._comparison() or self._negation() or self._group()

    def _comparison(self) -> Expression | None:
        start = self.index
        left = self._operand()
        if left is not None:
            self._space()
            operator = self._first_literal("==", "=", "!=", "<>", ">=", ">", "<=", "<")
            if operator:
                self._space()
                right = self._operand()
                if right is not None:
                    return Comparison(left, operator, right)
        self.index = start
        return None

    def _negation(self) -> Expression | None:
        start = self.index
        if self._literal("!"):
            self._space()
            inner = self._expression()
            if inner is not None:
                return Not(inner)
        self.index = start
        return None

    def _group(self) -> Expression | None:
        start = self.index
        if self._literal("("):
            self._space()
            inner = self._expression()
            if inner is not None:
                self._space()
                if self._literal(")"):
                    return Group(inner)
        self.index = start
        return None

    @_remembered
    def _operand(self) -> Operand | None:
        return self._decimal() or self._integer() or self._variable()

    def _decimal(self) -> Operand | None:
        start = self.index
        sign = self._literal("-") or ""
        whole = self._many("[0-9]")
        if whole and self._literal("."):
            fraction = self._many("[0-9]")
            if fraction:
                return Operand(number=float(f"{sign}{whole}.{fraction}"))
        self.index = start
        return None

    def _integer(self) -> Operand | None:
        start = self.index
        sign = self._literal("-") or ""
        whole = self._many("[0-9]")
        if whole:
            return Operand(number=int(sign + whole))
        self.index = start
        return None

    def _variable(self) -> Operand | None:
        start = self.index
        for quote in ('"', "'", ""):
            if not quote or self._literal(quote):
                first = self._terminal("[a-zA-Z]", "[a-zA-Z]")
                if first:
                    name = first + self._many("[0-9a-zA-Z_]")
                    if not quote or self._literal(quote):
                        return Operand(name=(quote + name + quote).upper())
            self.index = start
        return None


@functools.lru_cache(maxsize=256)
def parse_expression(text: str) -> Expression:
    """The expression's tree; ``.result(lookup)`` gives its truth and its text with values filled in.

    :raises ExpressionError: when the text is no expression.
    """
    return _Parser(text).parse()
