# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Slurm's feature expressions (``sbatch --constraint``), evaluated for one node.

Grammar, the same on 22.05 and 24.11: ``a``, ``a&b``, ``a,b`` (squeue shows it as ``a&b``), ``a|b``,
``a&(b|c)``, ``[a|b]``, ``a*1``, ``[a*1&b*1]``. There is no NOT. Slurm combines from left to right without
precedence, so ``a|b&c`` is ``(a|b)&c``. A ``*count`` is about how many nodes of a job carry the feature;
for one node it is left out, and every part of ``[a*1&b*1]`` is asked of the same node, which is the cautious
reading: a worker is not counted as useful for a job that also needs another kind of worker.
"""

from __future__ import annotations

import re
from typing import Collection

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z0-9_.:/=@+\-]+)|(?P<count>\*\d+)|(?P<mark>[&,|()\[\]]))")
_CLOSING = {"(": ")", "[": "]"}
NO_EXPRESSION = ("", "(null)", "N/A")


class FeatureExpressionError(ValueError):
    """The text is not a feature expression."""


def matches_features(expression: str, features: Collection[str]) -> bool:
    """Tell whether a node with these features satisfies the expression (an empty one always).

    :raises FeatureExpressionError: the expression cannot be read.
    """
    if expression in NO_EXPRESSION:
        return True
    tokens = _tokens(expression)
    value, rest = _evaluate(tokens, 0, features, expression)
    if rest != len(tokens):
        raise FeatureExpressionError(f"The feature expression '{expression}' has a stray '{tokens[rest]}'.")
    return value


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if match is None:
            raise FeatureExpressionError(f"The feature expression '{expression}' cannot be read.")
        tokens.append(match.group(0).strip())
        position = match.end()
    return tokens


def _evaluate(tokens: list[str], position: int, features: Collection[str], whole: str) -> tuple[bool, int]:
    value, position = _operand(tokens, position, features, whole)
    while position < len(tokens) and tokens[position] in "&,|":
        operator = tokens[position]
        right, position = _operand(tokens, position + 1, features, whole)
        value = (value or right) if operator == "|" else (value and right)
    return value, position


def _operand(tokens: list[str], position: int, features: Collection[str], whole: str) -> tuple[bool, int]:
    if position >= len(tokens):
        raise FeatureExpressionError(f"The feature expression '{whole}' ends too early.")
    token = tokens[position]
    if token in _CLOSING:
        value, position = _evaluate(tokens, position + 1, features, whole)
        if position >= len(tokens) or tokens[position] != _CLOSING[token]:
            raise FeatureExpressionError(f"The feature expression '{whole}' lacks a '{_CLOSING[token]}'.")
    elif token[0] in "&,|)]*":
        raise FeatureExpressionError(f"The feature expression '{whole}' has a stray '{token}'.")
    else:
        value = token in features
    position += 1
    if position < len(tokens) and tokens[position][0] == "*":
        position += 1
    return value, position
