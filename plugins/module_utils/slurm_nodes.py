# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The nodes in the output of ``scontrol -o show node``, typed.

One line is one node, ``Key=value`` pairs with blanks between. Some values hold blanks themselves (OS, Reason),
and Reason, Comment and Extra are free text, so they are cut off first: no text of an administrator may pass for
another field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_tres import gpu_count

NO_NODES = "No nodes in the system"

_FIELD = re.compile(r" +(?=[A-Za-z/:_]+=)")
_NODE_START = re.compile(r"^NodeName=", re.MULTILINE)
# Greedy on purpose: text behind a reason that looks like more fields makes the reason longer, so that it is not
# taken for ours.
_REASON = re.compile(
    r" Reason=(?P<text>.*) \[(?P<user>[^\s\[\]@]+)@(?P<time>[^\s\[\]]+)\]"
    r"(?= *$| (?:Comment|Extra|Instance[A-Z][a-z]+)=)",
    re.DOTALL,
)
_FREE_TEXT = re.compile(r" (?:Reason|Comment|Extra|Instance[A-Z][a-z]+)=")
_REASON_KEY = " Reason="
_STATE = re.compile(r"(?P<base>[A-Z_]+)(?P<suffixes>[*~#!%$@^\-]*)(?P<flags>(?:\+[A-Z_]+)*)")
_STATE_SUFFIXES = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}


# A flag that is not listed here means that something else goes on with an idle node.
_UNRETURNABLE_FLAGS = frozenset(["FAIL", "INVALID_REG", "NOT_RESPONDING"])
_IDLE_FLAGS = frozenset(["CLOUD", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "PLANNED"])


@dataclass(frozen=True)
class SlurmNode:
    """One node record of slurmctld.

    base_state: IDLE, ALLOCATED, MIXED, DOWN, FUTURE, UNKNOWN, ...; flags: DRAIN, COMPLETING, NOT_RESPONDING,
    DYNAMIC_NORM, ... (words that are not known here are kept).
    cpus, memory_mib: what jobs can get, so without specialized cores and memory.
    reason: without the ``[user@time]`` that Slurm appends, "" when there is none.
    Times are Unix seconds, None when Slurm has none (or was not asked with SLURM_TIME_FORMAT=%s).
    """

    name: str
    base_state: str
    flags: frozenset[str]
    address: str
    cpus: int
    allocated_cpus: int
    memory_mib: int
    features: frozenset[str]
    gpus: int
    partitions: frozenset[str]
    reason: str
    reason_user: str
    reason_time: int | None
    boot_time: int | None
    slurmd_start_time: int | None
    last_busy_time: int | None

    @property
    def state(self) -> str:
        """The state as scontrol prints it, flags in alphabetical order."""
        return "+".join([self.base_state, *sorted(self.flags)])

    @property
    def is_future(self) -> bool:
        """A placeholder: not a machine."""
        return self.base_state == "FUTURE"

    @property
    def has_drain_flag(self) -> bool:
        """DRAIN is set, with or without jobs on the node."""
        return "DRAIN" in self.flags

    @property
    def is_untouched(self) -> bool:
        """Nobody has drained the node or left a reason on it."""
        return not self.has_drain_flag and not self.reason

    @property
    def is_idle(self) -> bool:
        """IDLE, responding, and nothing else goes on with the node; a suspended job may still be there."""
        return self.base_state == "IDLE" and self.flags <= _IDLE_FLAGS

    @property
    def can_return(self) -> bool:
        """An undrain gives the node back to the queue: it is neither DOWN nor failing, invalid or out of contact."""
        return self.base_state != "DOWN" and not self.flags & _UNRETURNABLE_FLAGS

    @property
    def is_gone_for_slurm(self) -> bool:
        """slurmctld has no contact: DOWN or NOT_RESPONDING."""
        return self.base_state == "DOWN" or "NOT_RESPONDING" in self.flags

    @property
    def is_responding(self) -> bool:
        """slurmctld is in contact and accepts the node's registration."""
        return (
            self.base_state in ("IDLE", "MIXED", "ALLOCATED")
            and not self.is_gone_for_slurm
            and "INVALID_REG" not in self.flags
        )


def parse_nodes(stdout: bytes) -> tuple[SlurmNode, ...]:
    """Return every node of the output, in its order. Exactly "No nodes in the system" is an empty tuple.

    :raises SlurmAnswerError: anything else that is not a list of nodes, an empty output included.
    """
    text = stdout.decode("utf-8", "replace").strip("\n")
    if text == NO_NODES:
        return ()
    starts = [match.start() for match in _NODE_START.finditer(text)]
    if not starts or starts[0] != 0:
        raise SlurmAnswerError(f"'scontrol show node' answered '{text[:80]}', which is not a list of nodes.")
    # A reason may hold newlines, so a record runs to the next line that starts a node.
    nodes = tuple(
        parse_node_record(text[start:end].rstrip("\n")) for start, end in zip(starts, starts[1:] + [len(text)])
    )
    names = [node.name for node in nodes]
    if len(set(names)) != len(names):
        raise SlurmAnswerError("'scontrol show node' listed a node twice.")
    return nodes


def parse_node_record(record: str) -> SlurmNode:
    """Return the node of one record.

    :raises SlurmAnswerError: a field is missing or is not what it should be.
    """
    head, reason, reason_user, reason_time = _split_reason(record)
    fields: dict[str, str] = {}
    for part in _FIELD.split(head):
        key, _equals, value = part.partition("=")
        fields.setdefault(key, value.strip())
    name = fields.get("NodeName", "")
    try:
        base_state, flags = _state(fields["State"])
        return SlurmNode(
            name=name,
            base_state=base_state,
            flags=flags,
            address=fields.get("NodeAddr", ""),
            cpus=int(fields.get("CPUEfctv", fields["CPUTot"])),
            allocated_cpus=int(fields.get("CPUAlloc", "0")),
            memory_mib=int(fields["RealMemory"]) - int(fields.get("MemSpecLimit", "0")),
            features=_words(fields.get("ActiveFeatures", "")),
            gpus=gpu_count(fields.get("Gres", "")) or 0,
            partitions=_words(fields.get("Partitions", "")),
            reason=reason,
            reason_user=reason_user,
            reason_time=_time(reason_time),
            boot_time=_time(fields.get("BootTime", "")),
            slurmd_start_time=_time(fields.get("SlurmdStartTime", "")),
            last_busy_time=_time(fields.get("LastBusyTime", "")),
        )
    except KeyError as missing:
        raise SlurmAnswerError(f"'scontrol show node' shows no {missing.args[0]} for node '{name}'.") from None
    except ValueError:
        raise SlurmAnswerError(f"'scontrol show node' shows a field of node '{name}' that is no number.") from None


def _split_reason(record: str) -> tuple[str, str, str, str]:
    """Return the text before Reason, Comment and Extra, then reason, its user and its time.

    Slurm prints Reason before the other two, so one that comes behind them is a part of their text.
    """
    start = _FREE_TEXT.search(record)
    if start is None:
        return record, "", "", ""
    head, free_text = record[: start.start()], record[start.start() :]
    match = _REASON.match(free_text)
    if match is not None:
        return head, match.group("text"), match.group("user"), match.group("time")
    if free_text.startswith(_REASON_KEY):
        return head, free_text[len(_REASON_KEY) :], "", ""
    return head, "", "", ""


def _state(text: str) -> tuple[str, frozenset[str]]:
    """Split ``IDLE+DRAIN``; the one-letter suffixes of the short form (``DOWN*``) become flags too."""
    match = _STATE.fullmatch(text)
    if match is None:
        raise SlurmAnswerError(f"'scontrol show node' shows the state '{text}', which is no node state.")
    suffixes = {_STATE_SUFFIXES[suffix] for suffix in match.group("suffixes")}
    return match.group("base"), frozenset(suffixes.union(match.group("flags").split("+")[1:]))


def _words(text: str) -> frozenset[str]:
    return frozenset() if text in ("", "(null)") else frozenset(text.split(","))


def _time(text: str) -> int | None:
    return int(text) if text.isdigit() and int(text) > 0 else None
