# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pool's reading of Slurm: is slurmctld there, then nodes, then jobs."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmUnreachableError


def read_slurm(client: SlurmClient, with_placeholders: bool = False) -> SlurmReading | None:
    """Read everything once; None when slurmctld does not answer, before or in the middle.

    Nodes come first: a job that starts between the two calls is then seen as a live one.

    :raises SlurmError: any other failure. Half a reading is never returned.
    """
    if not client.is_controller_up():
        return None
    try:
        return SlurmReading(nodes=client.nodes(with_placeholders), jobs=client.jobs())
    except SlurmUnreachableError:
        return None
