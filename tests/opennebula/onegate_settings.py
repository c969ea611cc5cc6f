# SPDX-License-Identifier: GPL-3.0-or-later
"""What an administrator sets in OneGate's configuration, and which of two versions' errors it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: As shipped: everything is allowed.
SHIPPED_PERMISSIONS = {
    "vm": ("show", "show_by_id", "update", "update_by_id", "action_by_id"),
    "service": ("show", "change_cardinality"),
    "vrouter": ("show",),
    "vnet": ("show_by_id",),
}

#: Names of attributes that no update may touch, as shipped.
RESTRICTED_ATTRIBUTES = ("SCHED_REQUIREMENTS", "SERVICE_ID", "ROLE_NAME")

#: Actions refused when the configuration names none, as in the shipped one.
RESTRICTED_ACTIONS = ("reboot",)


@dataclass
class OneGateSettings:
    """May change while the server runs.

    :param denied: ``resource.action`` of the permissions that are off, e.g. ``service.show``.
    :param restricted_attributes: upper-case names.
    :param restricted_actions: lower-case names.
    :param shows_causes: a 500 carries its cause, as up to 7.0.0; later it says ``Internal server error``.
    :param erase_gap_seconds: between the two calls to the core that make up an erase; what others write to the VM
        in between is lost.
    """

    denied: frozenset[str] = frozenset()
    restricted_attributes: tuple[str, ...] = RESTRICTED_ATTRIBUTES
    restricted_actions: tuple[str, ...] = field(default=RESTRICTED_ACTIONS)
    shows_causes: bool = False
    erase_gap_seconds: float = 0.005

    def change(self, wanted: Mapping[str, Any]) -> None:
        """Set the members that ``wanted`` names, lists for sets.

        :raises ValueError: for an unknown member or permission; nothing is changed then.
        """
        known = {f"{resource}.{action}" for resource, actions in SHIPPED_PERMISSIONS.items() for action in actions}
        for permission in wanted.get("denied", ()):
            if permission not in known:
                raise ValueError(f"no permission {permission}; there are {', '.join(sorted(known))}")
        for name in wanted:
            if name not in self.__dataclass_fields__:
                raise ValueError(f"OneGate has no setting {name}; it has {', '.join(self.__dataclass_fields__)}")
        for name, value in wanted.items():
            setattr(self, name, type(getattr(self, name))(value))
