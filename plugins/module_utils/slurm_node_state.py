# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bringing one Slurm node into a wanted state, without overruling anybody: the code of the module slurm_node."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import NodeBusyError, SlurmError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

OWNER_PREFIX = "onehpc:"

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "required": True, "choices": ["drained", "undrained", "down", "future", "absent"]},
    "reason": {"type": "str"},
    "cpus": {"type": "int"},
    "real_memory_mib": {"type": "int"},
    "features": {"type": "list", "elements": "str", "default": []},
    "gpus": {"type": "int", "default": 0},
    "force": {"type": "bool", "default": False},
    "timeout_seconds": {"type": "float", "default": 30.0},
}
REQUIRED_IF = [
    ("state", "drained", ["reason"]),
    ("state", "down", ["reason"]),
    ("state", "future", ["cpus", "real_memory_mib"]),
]


class NodeStateError(SlurmError):
    """The wanted state cannot be reached without harm to a job or to what somebody else decided."""


@dataclass(frozen=True)
class Step:
    """changed: whether anything has to be done. why: a sentence. reason: the node's afterwards."""

    changed: bool
    why: str
    state: str
    reason: str = ""


def run(params: dict, check_mode: bool) -> dict:
    """params: validated module parameters. Returns the module's result; raises SlurmError."""
    client = SlurmClient(Deadline(params["timeout_seconds"]))
    if not client.is_controller_up():
        raise SlurmError("slurmctld does not answer: see 'systemctl status slurmctld' on the portal.")
    with_placeholders = params["state"] in ("future", "absent")
    node = client.node(params["name"], with_placeholders=with_placeholders)
    step = _STEPS[params["state"]](params, node, client)
    if step.changed and not check_mode:
        _take(params, node, client)
    before = {"state": node.state if node else "absent", "reason": node.reason if node else ""}
    after = {"state": step.state, "reason": step.reason} if step.changed else before
    return {
        "changed": step.changed,
        "name": params["name"],
        "state_before": before["state"],
        "reason_before": before["reason"],
        "why": step.why,
        "diff": {"before": before, "after": after},
    }


def _drained(params: dict, node: SlurmNode | None, _client: SlurmClient) -> Step:
    node = _existing(params, node)
    if node.has_drain_flag:
        if node.reason == params["reason"]:
            return Step(False, "The node is drained for this reason already.", "DRAIN")
        if not _may_overrule(params, node):
            return Step(False, f"The node is drained already, by {_author(node)} with '{node.reason}': kept.", "DRAIN")
    elif node.reason and not _may_overrule(params, node):
        raise _refusal(node, "drained")
    return Step(True, "The node is drained.", "DRAIN", params["reason"])


def _undrained(params: dict, node: SlurmNode | None, _client: SlurmClient) -> Step:
    node = _existing(params, node)
    if not node.has_drain_flag:
        return Step(False, "The node is not drained.", "")
    if not _may_overrule(params, node):
        raise _refusal(node, "undrained")
    return Step(True, "The node is undrained.", "undrained")


def _down(params: dict, node: SlurmNode | None, _client: SlurmClient) -> Step:
    node = _existing(params, node)
    if node.base_state == "DOWN":
        return Step(False, "The node is down already.", "DOWN")
    if node.reason and not _may_overrule(params, node):
        raise _refusal(node, "set down")
    return Step(True, "The node is set down: its jobs end.", "DOWN", params["reason"])


def _future(params: dict, node: SlurmNode | None, _client: SlurmClient) -> Step:
    if node is None:
        return Step(True, "The placeholder is created.", "FUTURE")
    if not node.is_future:
        raise NodeStateError(
            f"Node {node.name} is a machine ({node.state}), so no placeholder of that name can be made."
        )
    wanted = (params["cpus"], params["real_memory_mib"], frozenset(params["features"]), params["gpus"])
    if (node.cpus, node.memory_mib, node.features, node.gpus) == wanted:
        return Step(False, "The placeholder is there.", "FUTURE")
    return Step(True, "The placeholder is replaced by one of the wanted shape.", "FUTURE")


def _absent(params: dict, node: SlurmNode | None, client: SlurmClient) -> Step:
    if node is None:
        return Step(False, "There is no such node.", "absent")
    if not node.is_future:
        if node.reason and not _may_overrule(params, node):
            raise _refusal(node, "deleted")
        _refuse_with_jobs(node, client)
    return Step(True, "The node is deleted.", "absent")


_STEPS = {"drained": _drained, "undrained": _undrained, "down": _down, "future": _future, "absent": _absent}


def _take(params: dict, node: SlurmNode | None, client: SlurmClient) -> None:
    name, state = params["name"], params["state"]
    if state == "drained":
        client.drain_node(name, params["reason"])
    elif state == "undrained":
        client.undrain_node(name)
    elif state == "down":
        client.set_node_down(name, params["reason"])
    elif state == "absent" or node is not None:
        _delete(name, client)
    if state == "future":
        client.create_placeholder(name, params["cpus"], params["real_memory_mib"], params["features"], params["gpus"])


def _delete(name: str, client: SlurmClient) -> None:
    try:
        client.delete_node(name)
    except NodeBusyError as error:
        raise NodeStateError(f"{error} Drain it and try again when the job has ended.") from None


def _existing(params: dict, node: SlurmNode | None) -> SlurmNode:
    if node is None:
        raise NodeStateError(
            f"There is no node {params['name']}: 'scontrol show node' lists those that are registered."
        )
    return node


def _may_overrule(params: dict, node: SlurmNode) -> bool:
    """The reason is this collection's, or the very one that the caller names, or the caller insists."""
    return params["force"] or node.reason.startswith(OWNER_PREFIX) or node.reason == params["reason"]


def _refusal(node: SlurmNode, what: str) -> NodeStateError:
    return NodeStateError(
        f"Node {node.name} is not {what}: {_author(node)} left the reason '{node.reason}' on it. "
        "Settle that first, or use force."
    )


def _author(node: SlurmNode) -> str:
    return node.reason_user or "somebody"


def _refuse_with_jobs(node: SlurmNode, client: SlurmClient) -> None:
    """slurmctld refuses busy nodes itself, but 22.05 dies on a node that holds only a suspended job."""
    jobs = client.jobs()
    holding = [job.job_id for job in jobs if job.is_live and node.name in job.nodes]
    asking = [job.job_id for job in jobs if job.is_pending and node.name in job.required_nodes]
    if holding:
        raise NodeStateError(f"Node {node.name} is not deleted: job {_listed(holding)} is on it.")
    if asking:
        raise NodeStateError(
            f"Node {node.name} is not deleted: job {_listed(asking)} asks for it by name and would fail at the next "
            "'scontrol reconfigure'. Cancel or update it first."
        )


def _listed(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers)
