# SPDX-License-Identifier: GPL-3.0-or-later
"""Which roles OneFlow may deploy or shut down next. ``straight`` follows the parents, ``none`` takes all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.opennebula.states import RoleState

Role = Mapping[str, Any]


def roles_to_deploy(roles: Sequence[Role], deployment: str) -> list[str]:
    """Names of the PENDING roles whose parents all run. A parent that does not exist never runs."""
    return _next_roles(roles, deployment, RoleState.PENDING, RoleState.RUNNING)


def roles_to_hold(roles: Sequence[Role], deployment: str) -> list[str]:
    """Names of the PENDING roles whose parents are all on HOLD; the next to be made on hold."""
    return _next_roles(roles, deployment, RoleState.PENDING, RoleState.HOLD)


def roles_to_release(roles: Sequence[Role], deployment: str) -> list[str]:
    """Names of the roles on HOLD whose parents all run."""
    return _next_roles(roles, deployment, RoleState.HOLD, RoleState.RUNNING)


def _next_roles(roles: Sequence[Role], deployment: str, present: RoleState, of_parents: RoleState) -> list[str]:
    settled = {role["name"] for role in roles if role["state"] == of_parents}
    return [
        role["name"]
        for role in roles
        if role["state"] == present
        and (deployment != "straight" or all(parent in settled for parent in role.get("parents") or []))
    ]


def roles_to_shut_down(roles: Sequence[Role], deployment: str) -> list[str]:
    """Names of the roles that are nobody's parent among those not yet DONE."""
    wanted_by_others = {
        parent for role in roles if role["state"] != RoleState.DONE for parent in role.get("parents") or []
    }
    leaving = (RoleState.UNDEPLOYING, RoleState.DONE, RoleState.FAILED_UNDEPLOYING)
    return [
        role["name"]
        for role in roles
        if role["state"] not in leaving and (deployment != "straight" or role["name"] not in wanted_by_others)
    ]


def nodes_to_terminate(node_ids: Sequence[int], cardinality: int) -> list[int]:
    """The first, that is the oldest, nodes of the list: those above the cardinality, or all when none is above.

    With fewer nodes than the cardinality OneFlow counts from the end of the list: all but that many.
    """
    if len(node_ids) == cardinality:
        return list(node_ids)
    return list(node_ids[: len(node_ids) - cardinality])
