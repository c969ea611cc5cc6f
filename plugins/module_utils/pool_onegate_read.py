# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the portal asks OneGate about single VMs, several at once and bounded in time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Iterable

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import VM_STATE_DONE
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm

CALLS_AT_ONCE = 8


def read_vms(client: OneGateClient, vm_ids: Iterable[int], deadline: Deadline) -> dict[int, Vm | OneGateError | None]:
    """VM id to the VM, to the error of its call, or to None where no time was left to ask."""

    def read(vm_id: int) -> Vm | OneGateError | None:
        if deadline.passed:
            return None
        try:
            return client.get_vm_by_id(vm_id)
        except OneGateError as error:
            return error

    ids = tuple(vm_ids)
    if not ids:
        return {}
    with ThreadPoolExecutor(max_workers=min(CALLS_AT_ONCE, len(ids))) as executor:
        return dict(zip(ids, executor.map(read, ids)))


def has_departed(answer: Vm | OneGateError | None) -> bool:
    """The VM is surely no part of the service any more: OneGate says so, or the VM is DONE.

    A 404 is none: OneGate answers it for every VM while OneFlow is down.
    """
    if isinstance(answer, OneGateError):
        return answer.status == 400 and "does not contain VM" in answer.sentence
    return answer is not None and answer.state == VM_STATE_DONE
