# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The jobs in the output of the pool's one squeue call, typed.

A job name is raw bytes of a user and may hold any separator, even newlines. So the columns are separated by
the unit separator, which no column but the name can contain, the name comes last, and every record ends with a
token that is new for each call: nobody can forge the end of a record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_arrays import ArrayTasks, parse_array_tasks
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_hostlist import expand_hostlist
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_tres import gpu_count, memory_mib, parse_tres

SEPARATOR = "\x1f"
RECORD_END = "\x1e"

# The same names give the same columns on 22.05 and 24.11. An unknown name would give an empty column.
COLUMNS = (
    "JobID",
    "ArrayJobID",
    "ArrayTaskID",
    "UserName",
    "State",
    "Partition",
    "NumNodes",
    "NumCPUs",
    "tres-alloc",
    "MinMemory",
    "tres-per-node",
    "tres-per-job",
    "tres-per-task",
    "Feature",
    "ReqNodes",
    "NodeList",
    "SchedNodes",
    "OverSubscribe",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "Reason",
    "Name",
)

# Every other state is a job that uses or may use its nodes; an unknown one counts as that too.
FINISHED_STATES = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    ]
)


@dataclass(frozen=True)
class SlurmJob:
    """One line of squeue: a job, a running array task, or all pending tasks of an array.

    cpus, memory_mib, gpus: the totals over ``node_count`` nodes, which is the smallest number of nodes the job
    takes. For a pending job they are the request; a job that ended without starting may lack memory and nodes
    (0 and 1 here). memory_mib is None for ``--mem=0``, a whole node's memory (squeue shows the largest record's then,
    the placeholder's included).
    tasks: the pending tasks of an array, None for anything else.
    Times are Unix seconds, None when unknown or without end. Job names are not decoded.
    """

    job_id: int
    array_job_id: int
    tasks: ArrayTasks | None
    user: str
    state: str
    partitions: tuple[str, ...]
    node_count: int
    cpus: int
    memory_mib: int | None
    gpus: int
    feature_expression: str
    required_nodes: tuple[str, ...]
    nodes: tuple[str, ...]
    exclusive: bool
    submit_time: int | None
    start_time: int | None
    end_time: int | None
    reason: str
    name: bytes

    @property
    def is_pending(self) -> bool:
        """The job waits."""
        return self.state == "PENDING"

    @property
    def is_finished(self) -> bool:
        """The job is only a record."""
        return self.state in FINISHED_STATES

    @property
    def is_live(self) -> bool:
        """The job holds its nodes: running, suspended, completing, configuring, or a state not known here."""
        return not self.is_pending and not self.is_finished


def squeue_format(token: str) -> str:
    """Return the value of ``squeue -O``. ``token`` ends every record: hexadecimal digits after a letter.

    A suffix that began with a digit would be taken for a width, hence the record separator before the token.
    """
    columns = [f"{name}:{SEPARATOR}" for name in COLUMNS[:-1]]
    return ",".join([*columns, f"{COLUMNS[-1]}:{RECORD_END}{token}"])


def parse_jobs(stdout: bytes, token: str) -> tuple[SlurmJob, ...]:
    """Return every job of the output, in its order. An empty output is an empty tuple: squeue prints nothing then.

    :raises SlurmAnswerError: a record is cut off, has another number of columns or an unreadable one.
    """
    end = (RECORD_END + token + "\n").encode("ascii")
    records = stdout.split(end)
    if records.pop():
        raise SlurmAnswerError("The answer of squeue is cut off.")
    return tuple(_parse_record(record) for record in records)


def _parse_record(record: bytes) -> SlurmJob:
    columns = record.split(SEPARATOR.encode("ascii"), len(COLUMNS) - 1)
    if len(columns) != len(COLUMNS):
        raise SlurmAnswerError(f"squeue printed {len(columns)} columns instead of {len(COLUMNS)}.")
    name = columns.pop()
    value = dict(zip(COLUMNS, (column.decode("utf-8", "replace") for column in columns)))
    if not value["JobID"].isdigit() or not value["State"]:
        raise SlurmAnswerError(f"squeue printed a job without a number or a state ('{value['JobID'][:20]}').")
    try:
        return _job(value, name)
    except (ValueError, SlurmAnswerError) as error:
        raise SlurmAnswerError(f"squeue shows job {value['JobID']} in a form that cannot be read: {error}") from None


def _job(value: dict[str, str], name: bytes) -> SlurmJob:
    resources = parse_tres(value["tres-alloc"])
    node_count = max(1, int(resources.get("node", "1")))
    return SlurmJob(
        job_id=int(value["JobID"]),
        array_job_id=int(value["ArrayJobID"]),
        tasks=_pending_tasks(value),
        user=value["UserName"],
        state=value["State"],
        partitions=tuple(value["Partition"].split(",")),
        node_count=node_count,
        cpus=int(resources.get("cpu", value["NumCPUs"])),
        memory_mib=_memory(value, resources),
        gpus=_gpus(value, resources, node_count),
        feature_expression="" if value["Feature"] == "(null)" else value["Feature"],
        required_nodes=expand_hostlist(value["ReqNodes"]),
        nodes=expand_hostlist(value["NodeList"]),
        exclusive=value["OverSubscribe"] == "NO",
        submit_time=_time(value["SubmitTime"]),
        start_time=_time(value["StartTime"]),
        end_time=_time(value["EndTime"]),
        reason=value["Reason"],
        name=name,
    )


def _pending_tasks(value: dict[str, str]) -> ArrayTasks | None:
    """A started task has its own job number and shows its task number alone: it is no list of waiting tasks."""
    return parse_array_tasks(value["ArrayTaskID"]) if value["State"] == "PENDING" else None


def _memory(value: dict[str, str], resources: dict[str, str]) -> int | None:
    """MinMemory is 0 for --mem=0, but 22.05 prints it for --mem-per-gpu too, whose total in tres-alloc is right."""
    gpu_texts = (value["tres-per-node"], value["tres-per-job"], value["tres-per-task"])
    if value["MinMemory"] == "0" and all(gpu_count(text) is None for text in gpu_texts):
        return None
    return memory_mib(resources.get("mem", "0"))


def _gpus(value: dict[str, str], resources: dict[str, str], node_count: int) -> int:
    """tres-alloc has the total when AccountingStorageTRES names gres/gpu; else the request itself is read."""
    if "gres/gpu" in resources:
        return int(resources["gres/gpu"])
    per_node = gpu_count(value["tres-per-node"]) or 0
    per_job = gpu_count(value["tres-per-job"]) or 0
    per_task = gpu_count(value["tres-per-task"]) or 0  # for one task: squeue does not show how many there are
    return max(per_node * node_count, per_job, per_task)


def _time(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d+", text) else None
