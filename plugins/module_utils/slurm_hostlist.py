# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Slurm's host list notation: ``w1``, ``w[1-3,5]``, ``a,b[01-02]``."""

from __future__ import annotations

import re

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError

EMPTY_TEXTS = ("", "(null)", "N/A", "None assigned")

# A pool holds at most a few hundred nodes; a longer list is a mistake, not something to expand.
MAX_NAMES = 65536

_ITEM = re.compile(r"[^,\[\]]*(?:\[[0-9,\-]+\][^,\[\]]*)*")
_BRACKET = re.compile(r"\[([0-9,\-]+)\]")


def expand_hostlist(text: str) -> tuple[str, ...]:
    """Return the node names of a host list, in its order; "no node" in any of Slurm's spellings is ``()``.

    Leading zeros are kept (``n[01-02]`` is ``n01``, ``n02``).

    :raises SlurmAnswerError: the text is not a host list.
    """
    if text in EMPTY_TEXTS:
        return ()
    names: list[str] = []
    position = 0
    while position <= len(text):
        match = _ITEM.match(text, position)
        if match is None or not match.group(0):
            raise SlurmAnswerError(f"'{text}' is not a list of node names.")
        names.extend(_expand_item(match.group(0), text))
        if len(names) > MAX_NAMES:
            raise SlurmAnswerError(f"The list of node names '{text[:60]}...' has more than {MAX_NAMES} names.")
        position = match.end()
        if position < len(text) and text[position] != ",":
            raise SlurmAnswerError(f"'{text}' is not a list of node names.")
        position += 1
    return tuple(names)


def _expand_item(item: str, whole: str) -> list[str]:
    """Expand one comma-free element, every bracket of it (``rack[1-2]node[1-2]``)."""
    match = _BRACKET.search(item)
    if match is None:
        return [item]
    tails = _expand_item(item[match.end() :], whole) if match.end() < len(item) else [""]
    numbers = _expand_numbers(match.group(1), whole)
    if len(numbers) * len(tails) > MAX_NAMES:
        raise SlurmAnswerError(f"The list of node names '{whole[:60]}...' has more than {MAX_NAMES} names.")
    return [item[: match.start()] + number + tail for number in numbers for tail in tails]


def _expand_numbers(text: str, whole: str) -> list[str]:
    numbers: list[str] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise SlurmAnswerError(f"'{whole}' is not a list of node names.")
        if not dash:
            numbers.append(first)
            continue
        low, high = int(first), int(last)
        if high < low or high - low >= MAX_NAMES:
            raise SlurmAnswerError(f"'{whole}' holds a range of node names that cannot be expanded.")
        numbers.extend(str(number).zfill(len(first)) for number in range(low, high + 1))
    return numbers
