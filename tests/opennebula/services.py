# SPDX-License-Identifier: GPL-3.0-or-later
"""A OneFlow service: its body as OneFlow stores it, and the changes of states that are recorded in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.opennebula.elasticity import DEFAULT_COOLDOWN_SECONDS
from tests.opennebula.states import RoleState, ServiceState
from tests.opennebula.vms import OWNER

#: OneFlow keeps only so many of a service's log entries.
LONGEST_LOG = 50

TEMPLATE_DOCUMENT = "101"
SERVICE_DOCUMENT = "100"


@dataclass
class Service:
    """One service. ``watched``: whether the watchdog reacts to states of its VMs."""

    id: int
    body: dict[str, Any]
    watched: bool = False

    @property
    def name(self) -> str:
        return self.body["name"]

    @property
    def state(self) -> ServiceState:
        return ServiceState(self.body["state"])

    @property
    def roles(self) -> list[dict[str, Any]]:
        return self.body["roles"]

    @property
    def deployment(self) -> str:
        return self.body["deployment"]

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

    def document(self) -> dict[str, Any]:
        return document(self.id, SERVICE_DOCUMENT, self.body)


def role_node_ids(role: dict[str, Any]) -> list[int]:
    """Ids of the role's VMs, in the order of their creation."""
    return [node["deploy_id"] for node in role.get("nodes") or []]


def document(document_id: int, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """A service or a service template as OneFlow answers with it."""
    owner_only = {
        f"{who}_{what}": "1" if who == "OWNER" and what in "UM" else "0"
        for who in ("OWNER", "GROUP", "OTHER")
        for what in "UMA"
    }
    return {
        "DOCUMENT": {
            "ID": str(document_id),
            **OWNER,
            "NAME": body["name"],
            "TYPE": kind,
            "PERMISSIONS": owner_only,
            "TEMPLATE": {"BODY": body},
        }
    }
