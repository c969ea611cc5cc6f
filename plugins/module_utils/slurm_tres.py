# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Slurm's trackable resources: ``cpu=4,mem=62.50G,node=1,billing=4,gres/gpu=1``, and its GPU requests."""

from __future__ import annotations

import re
from fractions import Fraction

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)")
_MIB_PER_UNIT = {
    "K": Fraction(1, 1024),
    "": Fraction(1),  # a bare number is in MiB everywhere in Slurm
    "M": Fraction(1),
    "G": Fraction(1024),
    "T": Fraction(1024**2),
    "P": Fraction(1024**3),
}
_GPU = re.compile(r"(?:^|[:/])gpu(?=[:=(]|$)(?:[:=](?P<first>[^:=,(]+))?(?:[:=](?P<second>\d+))?")


def parse_tres(text: str) -> dict[str, str]:
    """Split ``cpu=1,mem=100M`` into a dictionary of texts. Empty and "none" texts give an empty one.

    :raises SlurmAnswerError: an element without ``=``.
    """
    if text in ("", "N/A", "(null)"):
        return {}
    values = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise SlurmAnswerError(f"The resources '{text}' cannot be read.")
        values[key] = value
    return values


def memory_mib(text: str) -> int:
    """Turn ``6000M``, ``62.50G`` or ``1T`` into MiB, rounded up. Slurm's units are powers of 1024.

    :raises SlurmAnswerError: not a size.
    """
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise SlurmAnswerError(f"'{text}' is not an amount of memory.")
    amount = Fraction(match.group(1)) * _MIB_PER_UNIT[match.group(2)]
    return -(-amount.numerator // amount.denominator)


def gpu_count(text: str) -> int | None:
    """Return the GPUs in a ``--gres`` style text, None when it names none.

    Known spellings: ``gres:gpu:1`` (22.05), ``gres/gpu:1`` and ``gres/gpu=1`` (24.11), ``gpu:tesla:2(S:0)``
    (a node's Gres). 24.11 fills tres-per-task with ``cpu=1`` for any job, so other elements are skipped.
    """
    found = [match for match in (_GPU.search(part) for part in text.split(",")) if match is not None]
    if not found:
        return None
    total = 0
    for match in found:
        first, second = match.group("first"), match.group("second")
        if second is not None:
            total += int(second)
        elif first is not None and first.isdigit():
            total += int(first)
        else:
            total += 1
    return total
