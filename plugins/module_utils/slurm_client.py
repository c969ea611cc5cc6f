# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Slurm's commands as the pool uses them: three reads and a few changes, each bounded in time.

An answer is complete or it is an error. ``squeue`` and ``scontrol`` end with 0 on an unknown column or a node
table that is full, so any text on stderr counts as a failure and every change is read back.
"""

from __future__ import annotations

import os
import re
import secrets
from typing import Callable, Mapping, Sequence

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import (
    CommandResult,
    CommandTimeout,
    run_bounded,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import (
    NodeBusyError,
    SlurmAnswerError,
    SlurmError,
    SlurmUnreachableError,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob, parse_jobs, squeue_format
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode, parse_nodes
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_ping import parse_ping
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_statistics import parse_accounting_backlog

PING_TIMEOUT_SECONDS = 5.0
CALL_TIMEOUT_SECONDS = 20.0

_CLIENT_SETTINGS = ("SLURM_", "SQUEUE_", "SCONTROL_", "SINFO_")
# Where the configuration is: a file, or the controller of a host whose slurmd has not run yet.
_CONFIGURATION = frozenset(["SLURM_CONF", "SLURM_CONF_SERVER"])
_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,62}")
_NOT_FOUND = re.compile(r"Node \S+ not found|Invalid node name specified")

Runner = Callable[[Sequence[str], Mapping[str, str], float], CommandResult]


class SlurmClient:
    """The Slurm commands of this host.

    deadline: no call runs longer than what is left of it. new_token: gives the token that ends squeue's records.
    Every method raises SlurmError (SlurmUnreachableError when slurmctld does not answer).
    """

    def __init__(
        self,
        deadline: Deadline | None = None,
        run: Runner = run_bounded,
        new_token: Callable[[], str] = lambda: secrets.token_hex(8),
    ):
        self._deadline = deadline
        self._run = run
        self._new_token = new_token

    def is_controller_up(self) -> bool:
        """Ask slurmctld for a sign of life. Any other call would block for 9 to 19 seconds without one."""
        argv = ["scontrol", "ping"]
        try:
            result = self._execute(argv, PING_TIMEOUT_SECONDS)
        except SlurmUnreachableError:
            return False
        try:
            return parse_ping(result.stdout)
        except SlurmAnswerError:
            raise _failure(argv, result) from None

    def nodes(self, with_placeholders: bool = False) -> tuple[SlurmNode, ...]:
        """Every node; FUTURE ones only when asked for."""
        return parse_nodes(self._read([*_show(with_placeholders), "show", "node"]))

    def node(self, name: str, with_placeholders: bool = False) -> SlurmNode | None:
        """The node of that name, or None when slurmctld says that there is none."""
        argv = [*_show(with_placeholders), "show", "node", _checked_name(name)]
        result = self._execute(argv, CALL_TIMEOUT_SECONDS)
        if result.return_code != 0 and _NOT_FOUND.search(_text(result.stdout) + _text(result.stderr)):
            return None
        _require_success(argv, result)
        nodes = parse_nodes(result.stdout)
        if [node.name for node in nodes] != [name]:
            raise SlurmAnswerError(f"'{' '.join(argv)}' did not show exactly that node.")
        return nodes[0]

    def jobs(self) -> tuple[SlurmJob, ...]:
        """Every job that slurmctld knows, in all states, finished ones included (for MinJobAge)."""
        token = self._new_token()
        return parse_jobs(self._read(["squeue", "-h", "-a", "-t", "all", "-O", squeue_format(token)]), token)

    def accounting_backlog(self) -> int:
        """How many messages slurmctld holds for slurmdbd: 0 while that takes them."""
        return parse_accounting_backlog(self._read(["sdiag"]))

    def drain_node(self, name: str, reason: str) -> SlurmNode:
        """Let the node take no more jobs, or put another reason on one that takes none.

        Returns the node as read afterwards.
        """
        self._update(name, ["state=drain", f"reason={_checked_reason(reason)}"])
        return self._changed_node(name, lambda node: node.has_drain_flag, "drained")

    def set_reason(self, name: str, reason: str) -> SlurmNode:
        """Put a reason on the node and leave its state. Returns the node as read afterwards."""
        self._update(name, [f"reason={_checked_reason(reason)}"])
        return self._changed_node(name, lambda node: bool(node.reason), "given its reason")

    def undrain_node(self, name: str) -> SlurmNode:
        """Let the node take jobs again. (Repeating it is no error, as it would be with "resume".)

        On 22.05 the node shows as NOT_RESPONDING until it has registered again, a few seconds later.
        """
        self._update(name, ["state=undrain"])
        return self._changed_node(name, lambda node: not node.has_drain_flag, "undrained")

    def set_node_down(self, name: str, reason: str) -> SlurmNode | None:
        """Give up a node whose machine is gone: its jobs end there.

        A node whose slurmd still answers comes back by itself within seconds, so the state is not insisted on.
        """
        self._update(name, ["state=down", f"reason={_checked_reason(reason)}"])
        return self.node(name)

    def delete_node(self, name: str) -> None:
        """Remove the node's record; one that is gone already is no error.

        :raises NodeBusyError: a job uses the node; nothing was changed.
        """
        argv = ["scontrol", "delete", f"nodename={_checked_name(name)}"]
        result = self._execute(argv, CALL_TIMEOUT_SECONDS)
        said = _text(result.stdout) + _text(result.stderr)
        if "Invalid node name specified" in said:
            return
        if "Requested nodes are busy" in said:
            raise NodeBusyError(f"slurmctld did not delete node {name}: a job still uses it.")
        _require_success(argv, result)
        if self.node(name, with_placeholders=True) is not None:
            raise SlurmError(f"Node {name} is still there after 'scontrol delete': see slurmctld's log.")

    def create_placeholder(
        self, name: str, cpus: int, memory_mib: int, features: Sequence[str], gpus: int = 0
    ) -> SlurmNode:
        """Create a FUTURE node: no machine, but jobs that would fit it are accepted and wait."""
        argv = [
            "scontrol",
            "create",
            f"NodeName={_checked_name(name)}",
            f"CPUs={cpus}",
            f"RealMemory={memory_mib}",
            "State=FUTURE",
        ]
        if features:
            argv.append("Feature=" + ",".join(features))
        if gpus:
            argv.append(f"Gres=gpu:{gpus}")
        self._call(argv)
        node = self.node(name, with_placeholders=True)
        if node is None or not node.is_future:
            # 22.05 ends with 0 and without a word when the node table is full.
            raise SlurmError(
                f"The placeholder {name} is not there after 'scontrol create': MaxNodeCount in slurm.conf may be "
                "reached (it must hold one more node for each worker role); slurmctld's log has the cause."
            )
        return node

    def _update(self, name: str, settings: Sequence[str]) -> None:
        self._call(["scontrol", "update", f"nodename={_checked_name(name)}", *settings])

    def _changed_node(self, name: str, holds: Callable[[SlurmNode], bool], what: str) -> SlurmNode:
        node = self.node(name)
        if node is None or not holds(node):
            state = "gone" if node is None else node.state
            raise SlurmError(f"Node {name} is not {what} after 'scontrol update' (it is {state}): see slurmctld's log.")
        return node

    def _read(self, argv: Sequence[str]) -> bytes:
        return self._call(argv).stdout

    def _call(self, argv: Sequence[str]) -> CommandResult:
        result = self._execute(argv, CALL_TIMEOUT_SECONDS)
        _require_success(argv, result)
        return result

    def _execute(self, argv: Sequence[str], timeout_seconds: float) -> CommandResult:
        if self._deadline is not None:
            timeout_seconds = min(timeout_seconds, self._deadline.remaining_seconds)
        try:
            return self._run(argv, client_environment(os.environ), timeout_seconds)
        except CommandTimeout:
            raise SlurmUnreachableError(
                f"'{_short(argv)}' did not end within {timeout_seconds:.0f} s: slurmctld does not answer."
            ) from None
        except OSError as error:
            raise SlurmError(
                f"'{argv[0]}' cannot be run: {error.strerror}. It belongs to Slurm's client package."
            ) from None


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a Slurm command.

    Settings of Slurm's clients would change states, order and columns, so none but the place of the configuration
    is taken over. Times come as Unix seconds, task lists of arrays come whole.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name in _CONFIGURATION or not name.startswith(_CLIENT_SETTINGS)
    }
    return {**kept, "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}


def _show(with_placeholders: bool) -> list[str]:
    return ["scontrol", "-o", "-F"] if with_placeholders else ["scontrol", "-o"]


def _checked_name(name: str) -> str:
    """Slurm takes host lists, node sets and ALL for a node name: only a plain one may pass."""
    if not _NODE_NAME.fullmatch(name) or name.upper() == "ALL":
        raise SlurmError(f"'{name}' is not the name of one node.")
    return name


def _checked_reason(reason: str) -> str:
    if not reason or not reason.isprintable() or reason.strip(' "') != reason:
        raise SlurmError(f"The reason {reason!r} cannot be put on a node: plain text in one line is needed.")
    return reason


def _require_success(argv: Sequence[str], result: CommandResult) -> None:
    if result.return_code != 0 or result.stderr.strip():
        raise _failure(argv, result)


def _failure(argv: Sequence[str], result: CommandResult) -> SlurmError:
    said = " ".join((_text(result.stderr) or _text(result.stdout)).split())[:300]
    sentence = f"'{_short(argv)}' failed (return code {result.return_code}): {said or 'no message'}"
    if "Unable to contact slurm controller" in said:
        return SlurmUnreachableError(sentence)
    return SlurmError(sentence)


def _short(argv: Sequence[str]) -> str:
    """The command without squeue's long format."""
    return "".join(character for character in " ".join(argv) if character.isprintable())[:80]


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
