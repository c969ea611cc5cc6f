# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's documents: service templates and services, with their bodies as OneFlow stores them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.opennebula.clock import Timer
from tests.opennebula.elasticity import DEFAULT_COOLDOWN_SECONDS
from tests.opennebula.states import RoleState, ServiceState
from tests.opennebula.vms import OWNER

#: OneFlow keeps only so many of a service's log entries.
LONGEST_LOG = 50

TEMPLATE_DOCUMENT = "101"
SERVICE_DOCUMENT = "100"


@dataclass
class Document:
    """What both kinds share.

    :param name: may differ from the body's after a rename.
    :param permissions: three octal digits.
    """

    id: int
    body: dict[str, Any]
    name: str = ""
    permissions: str = "600"
    kind = TEMPLATE_DOCUMENT

    def __post_init__(self) -> None:
        self.name = self.name or self.body["name"]

    def document(self) -> dict[str, Any]:
        """The document as OneFlow answers with it."""
        shown = {
            f"{who}_{what}": str(int(digit) >> shift & 1)
            for who, digit in zip(("OWNER", "GROUP", "OTHER"), self.permissions, strict=True)
            for shift, what in ((2, "U"), (1, "M"), (0, "A"))
        }
        return {
            "DOCUMENT": {
                "ID": str(self.id),
                **OWNER,
                "NAME": self.name,
                "TYPE": self.kind,
                "PERMISSIONS": shown,
                "TEMPLATE": {"BODY": self.body},
            }
        }


@dataclass
class Service(Document):
    """One service.

    :param watched: whether the watchdog reacts to states of its VMs.
    :param timer: what ends the present wait for networks or for the cooldown.
    """

    watched: bool = False
    timer: Timer | None = field(default=None, repr=False)
    kind = SERVICE_DOCUMENT

    @property
    def state(self) -> ServiceState:
        return ServiceState(self.body["state"])

    @property
    def roles(self) -> list[dict[str, Any]]:
        return self.body["roles"]

    @property
    def deployment(self) -> str:
        return self.body["deployment"]

    @property
    def waits_for_ready(self) -> bool:
        return bool(self.body.get("ready_status_gate"))

    def role(self, name: str | None) -> dict[str, Any] | None:
        return next((role for role in self.roles if role["name"] == name), None)

    def node_ids(self) -> Iterator[int]:
        for role in self.roles:
            yield from role_node_ids(role)

    def fill_role_defaults(self) -> None:
        """What OneFlow adds to every role when it starts working with it."""
        for role in self.roles:
            role.setdefault("nodes", [])
            role.setdefault("on_hold", False)
            if role.get("cooldown") is None:
                role["cooldown"] = DEFAULT_COOLDOWN_SECONDS

    def all_roles(self, state: RoleState) -> bool:
        return all(role["state"] == state for role in self.roles)

    def log(self, now: float, message: str, severity: str = "I") -> None:
        """Append to the service's own log."""
        entries = self.body.setdefault("log", [])
        entries.append({"timestamp": int(now), "severity": severity, "message": message})
        self.body["log"] = entries[-LONGEST_LOG:]


def role_node_ids(role: dict[str, Any]) -> list[int]:
    """Ids of the role's VMs, in the order of their creation."""
    return [node["deploy_id"] for node in role.get("nodes") or []]
