# SPDX-License-Identifier: GPL-3.0-or-later
"""Which core a new host is pinned to."""

from __future__ import annotations

from collections.abc import Iterable


def choose_core(available: Iterable[int], used: Iterable[int]) -> int:
    """The available core with the fewest running hosts, the lowest of several: hosts started in a row go round."""
    taken = list(used)
    return min(sorted(available), key=taken.count)
