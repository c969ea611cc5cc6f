# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which workers' figures nobody renews any more. Pure."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_figures import OLDEST_IDLE, REPORT_TIME
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalReading

# A worker reports every 30 s; after three missed reports its OLDEST_IDLE may speak of another VM.
STALE_REPORT_SECONDS = 90


def stale_vm_ids(reading: PortalReading) -> tuple[int, ...]:
    """The listed workers whose OLDEST_IDLE is to be reset."""
    workers = (vm_id for role in reading.service.worker_roles() for vm_id in role.vm_ids)
    return tuple(vm_id for vm_id in workers if _is_stale(reading, vm_id))


def says_oldest_idle(reading: PortalReading, vm_id: int) -> bool:
    """The worker stands in OneFlow's mean with OLDEST_IDLE above 0."""
    vm = reading.worker_vms.get(vm_id)
    return vm is not None and _number(vm.user_template.get(OLDEST_IDLE)) > 0


def _is_stale(reading: PortalReading, vm_id: int) -> bool:
    if not says_oldest_idle(reading, vm_id):
        return False
    reported_at = _number(reading.worker_vms[vm_id].user_template.get(REPORT_TIME))
    return reading.now - reported_at > STALE_REPORT_SECONDS


def _number(value: object) -> float:
    """A published figure; 0 for anything else, as OneFlow reads it."""
    try:
        return float(value) if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
