# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The metrics of one tick of the portal, written however it ends."""

from __future__ import annotations

from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics_files import MetricsFolder
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics_reading import decision_kinds, pool_metrics
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import PortalDecision
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmError
from ansible_collections.onehpc.ondemand.plugins.module_utils.user_nginx import count_user_nginx


class TickMetrics:
    """A context round the tick, which sets what it has got to: reading, decision and at last its result.

    When the context ends the files are written; a failure of the tick goes on.

    :raises PoolError: a tick that went well, but whose files cannot be written.
    """

    def __init__(self, path: str | None, slurm: SlurmClient, now: Callable[[], float]):
        """path: of the folder, None to write nothing. now: the wall clock."""
        self.reading: PortalReading | None = None
        self.decision: PortalDecision | None = None
        self.result: dict | None = None
        self._folder = MetricsFolder(path) if path else None
        self._slurm = slurm
        self._now = now

    def __enter__(self) -> TickMetrics:
        return self

    def __exit__(self, _kind, error, _traceback) -> None:
        if self._folder is None:
            return
        try:
            self._write(self._folder)
        except PoolError:
            if error is None:
                raise

    def _write(self, folder: MetricsFolder) -> None:
        succeeded = self.result is not None
        folder.write_pool(pool_metrics(self.reading, self.decision, count_user_nginx(), succeeded))
        if succeeded:
            folder.write_decisions(decision_kinds(self.result), int(self._now()))
            folder.refresh_accounting(self._now(), self._backlog)

    def _backlog(self) -> int | None:
        try:
            return self._slurm.accounting_backlog() if self.result["controller_up"] else None
        except SlurmError:
            return None
