# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The folder of the node exporter's textfile collector: one file for each rhythm in which metrics are read."""

from __future__ import annotations

import os
from typing import Callable, Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics import (
    PoolMetrics,
    render,
    render_accounting,
    render_decisions,
)

# Its call is a fourth one to slurmctld, so most ticks do without.
ACCOUNTING_SECONDS = 300

POOL_FILE = "onehpc_pool.prom"
DECISION_FILE = "onehpc_decision.prom"
ACCOUNTING_FILE = "onehpc_accounting.prom"


class MetricsFolder:
    """path: of the folder, which must be there. Files are readable by all.

    Every method raises PoolError when a file cannot be written.
    """

    def __init__(self, path: str):
        self._path = path

    def write_pool(self, metrics: PoolMetrics) -> None:
        """Replace what is read anew at every tick."""
        self._write(POOL_FILE, render(metrics))

    def write_decisions(self, kinds: Iterable[str], decided_at: int) -> None:
        """Replace what the last decisions were; without any those before stay."""
        kinds = tuple(kinds)
        if kinds:
            self._write(DECISION_FILE, render_decisions(kinds, decided_at))

    def refresh_accounting(self, now: float, read_backlog: Callable[[], int | None]) -> None:
        """Replace what is read every few minutes, once the file's own time is that old."""
        if self._age_seconds(ACCOUNTING_FILE, now) >= ACCOUNTING_SECONDS:
            self._write(ACCOUNTING_FILE, render_accounting(read_backlog()))

    def _age_seconds(self, name: str, now: float) -> float:
        try:
            return abs(now - os.stat(os.path.join(self._path, name)).st_mtime)
        except OSError:
            return float("inf")

    def _write(self, name: str, text: str) -> None:
        path = os.path.join(self._path, name)
        try:
            write_atomically(path, text.encode(), mode=0o644)
        except OSError as error:
            raise PoolError(f"The metrics in {path} cannot be written: {error.strerror}.") from None
