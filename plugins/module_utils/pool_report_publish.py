# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one update that a worker's tick sends."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import (
    OLDEST_IDLE,
    REPORT_TIME,
    SLURM_NODENAME,
    WorkerFigures,
)


def publish(client: OneGateClient, vm: Vm, figures: WorkerFigures, node_name: str, report_time: int) -> None:
    """Send the figures of a VM as it was read; OLDEST_IDLE is read back when it changes, since OneFlow acts on it.

    report_time: Unix seconds.

    :raises OneGateError: OneGate did not take them, or shows another OLDEST_IDLE afterwards.
    """
    client.put_vm({**figures.attributes(), SLURM_NODENAME: node_name, REPORT_TIME: report_time})
    wanted = str(figures.oldest_idle)
    if vm.user_template.get(OLDEST_IDLE) == wanted:
        return
    stored = client.get_vm().user_template.get(OLDEST_IDLE)
    if stored != wanted:
        raise OneGateError(
            "GET",
            "/vm",
            client.endpoint,
            200,
            f"OneGate at {client.endpoint} took OLDEST_IDLE={wanted} for VM {vm.id} but shows {stored!r}: something "
            "else writes it.",
        )
