# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with the cloud, set by a test while it runs. The defaults are a healthy cloud."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass
class Conditions:
    """Each field is one thing that goes wrong.

    :param acting_delay_seconds: between the autoscaler's reading of all VMs and what it does because of it (0 to 60).
    :param has_monitoring: whether any VM of the cloud has a monitoring record; without one the autoscaler's thread
        dies at the first policy it evaluates, until OneFlow restarts.
    :param failing_boots: so many of the next starts of a VM end in BOOT_FAILURE.
    :param host_slots: VMs that fit on the hosts; more stay PENDING until one leaves. None: there is always room.
    :param vm_info_readable: whether OneFlow can read a VM it has just made; otherwise its ``vm_info`` stays null.
    :param networks_in_error: ids of virtual networks in state ERROR; a service that uses one ends in
        FAILED_DEPLOYING_NETS.
    """

    acting_delay_seconds: float = 0
    has_monitoring: bool = True
    failing_boots: int = 0
    host_slots: int | None = None
    vm_info_readable: bool = True
    networks_in_error: tuple[int, ...] = ()

    def change(self, **wanted: Any) -> dict[str, Any]:
        """Set some of them and return all.

        :raises ValueError: for an unknown name or a delay out of its range; nothing is changed then.
        """
        unknown = set(wanted) - {field.name for field in fields(self)}
        if unknown:
            raise ValueError(f"no condition is called {', '.join(sorted(unknown))}")
        if not 0 <= wanted.get("acting_delay_seconds", 0) <= 60:
            raise ValueError("acting_delay_seconds must be 0 to 60")
        for name, value in wanted.items():
            setattr(self, name, value)
        return asdict(self)
