# SPDX-License-Identifier: GPL-3.0-or-later
"""squeue's answer: recorded on both versions, and what a user may put into a job's name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_arrays import ArrayTasks
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import (
    COLUMNS,
    SlurmJob,
    parse_jobs,
    squeue_format,
)
from tests.unit.plugins.slurm_samples import TOKEN, VERSIONS, recorded

LONG_LIST = ArrayTasks(26, 4)
DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
RESERVED = "ReqNodeNotAvail, May be reserved for other job"


def job(
    number, name, state, cpus, memory_mib, reason, user="bob", partitions=("main",), array=None, tasks=None, count=1,
    gpus=0, feature="", asked=(), nodes=(), exclusive=False, submit=None, start=None, end=None,
):  # fmt: skip
    """A job as it should be read, with what most jobs have left out."""
    return SlurmJob(
        number, array or number, tasks, user, state, partitions, count, cpus, memory_mib, gpus, feature, asked, nodes,
        exclusive, submit, start, end, reason, name.encode(),
    )  # fmt: skip


# What the recordings say, copied from them by eye. Job numbers differ between the versions from some point on.
MIXED = [
    job(104, "run-1cpu", "RUNNING", 1, 1500, "None", "alice", ("all",), asked=("w1",), nodes=("w1",),
        submit=1796045644, start=1796045645),
    job(110, "arr-run", "PENDING", 1, 3200, "Resources", tasks=ArrayTasks(4, 2), submit=1796045647),
    job(111, "arr-run", "RUNNING", 1, 3200, "None", array=110, nodes=("w3",), submit=1796045647, start=1796045648,
        end=1796088848),
    job(116, "arr-long", "PENDING", 2, 2500, "Priority", "alice", tasks=LONG_LIST, submit=1796045653,
        start=1827581645, end=1827624845),
    job(120, "mem-all", "PENDING", 2, None, "Priority", submit=1796045653, start=1827581645, end=1827624845),
    job(121, "mem-gpu", "PENDING", 1, 3000, "Priority", "alice", gpus=1, submit=1796045653),
    job(125, "gpu-task", "PENDING", 1, 2500, "Priority", "alice", gpus=1, submit=1796045653),
    job(130, "feat-or", "PENDING", 4, 400, "Priority", feature="gpu|big", submit=1796045653),
    job(134, "pend-2node", "PENDING", 8, 5000, "Priority", count=2, submit=1796045653),
    job(137, "pend-nonodes", "PENDING", 9, 900, "Priority", "alice", submit=1796045653),
    job(107, "run-2node", "RUNNING", 2, 1000, "None", count=2, nodes=("w1", "w3"), submit=1796045644,
        start=1796045645, end=1796088845),
    job(105, "run-exclusive", "RUNNING", 8, 800, "None", asked=("w2",), nodes=("w2",), exclusive=True,
        submit=1796045644, start=1796045645, end=1796088845),
]  # fmt: skip
RESTARTED = [
    job(115, "arr-step", "PENDING", 2, 2500, "Priority", tasks=ArrayTasks(5, 3), submit=1796045653,
        start=1827581645, end=1827624845),
    job(135, "pend-2req", "PENDING", 2, 200, "Priority", "alice", count=2, asked=("w1", "w2"), submit=1796045653),
    job(108, "run-suspend", "SUSPENDED", 1, 1000, "None", "alice", nodes=("w3",), asked=("w3",), submit=1796045644,
        start=1796045645, end=1796088845),
]  # fmt: skip
DRAINED = [
    job(104, "run-1cpu", "CANCELLED", 1, 1500, "None", "alice", ("all",), asked=("w1",), nodes=("w1",),
        submit=1796045644, start=1796045645, end=1796045736),
    # Cancelled before it started: memory and nodes are missing.
    job(110, "arr-run", "CANCELLED", 1, 0, "Resources", submit=1796045647, start=1796045731, end=1796045731),
    job(107, "run-2node", "CANCELLED", 2, 1000, "None", count=2, nodes=("w1", "w3"), submit=1796045644,
        start=1796045645, end=1796045736),
]  # fmt: skip
EXPECTED = {
    ("22.05", "mixed"): MIXED,
    ("24.11", "mixed"): MIXED,
    ("22.05", "mixed-after-restart"): RESTARTED,
    ("24.11", "mixed-after-restart"): RESTARTED,
    ("22.05", "all-drained"): DRAINED,
    ("24.11", "all-drained"): DRAINED,
    ("22.05", "suspended-and-completing"): [
        job(1286, "only-completing", "COMPLETING", 1, 100, "None", asked=("w3",), nodes=("w3",), submit=1796046971,
            start=1796046971, end=1796046977),
        job(1285, "only-suspended", "SUSPENDED", 2, 1000, "None", "alice", asked=("w2",), nodes=("w2",),
            submit=1796046971, start=1796046971, end=1796090171),
    ],
    ("24.11", "suspended-and-completing"): [
        job(2284, "only-completing", "COMPLETING", 1, 100, "None", asked=("w3",), nodes=("w3",), submit=1796046977,
            start=1796046978, end=1796046983),
        job(2283, "only-suspended", "SUSPENDED", 2, 1000, "None", "alice", asked=("w2",), nodes=("w2",),
            submit=1796046977, start=1796046978, end=1796090178),
    ],
    ("22.05", "node-deleted"): [
        job(1289, "fin-2node", "COMPLETED", 2, 200, "None", count=2, asked=("w1", "w3"), nodes=("w1", "w3"),
            submit=1796046989, start=1796046992, end=1796046992),
        job(1290, "pend-w3", "PENDING", 1, 100, "ReqNodeNotAvail, UnavailableNodes:w3", "alice", asked=("w3",),
            submit=1796046994),
        job(1291, "held-w3", "PENDING", 1, 100, "JobHeldUser", asked=("w3",), submit=1796046994),
    ],
    ("24.11", "node-deleted"): [
        job(2287, "fin-2node", "COMPLETED", 2, 200, "None", count=2, asked=("w1", "w3"), nodes=("w1", "w3"),
            submit=1796046989, start=1796046990, end=1796046990),
        job(2288, "pend-w3", "PENDING", 1, 100, RESERVED, "alice", asked=("w3",), submit=1796046994),
        job(2289, "held-w3", "PENDING", 1, 100, "JobHeldUser", asked=("w3",), submit=1796046994),
    ],
    ("22.05", "node-deleted-reconfigured"): [
        job(1288, "failed-on-w3", "FAILED", 1, 100, "NonZeroExitCode", asked=("w3",), nodes=("w3",),
            submit=1796046989, start=1796046992, end=1796046992),
        job(1290, "pend-w3", "NODE_FAIL", 1, 100, "NodeDown", "alice", asked=("w3",), submit=1796046994,
            start=1796047000, end=1796047000),
        job(1292, "later-not-w3", "PENDING", 1, 100, "BeginTime", submit=1796046994, start=1796050594,
            end=1796093794),
    ],
    ("24.11", "node-deleted-reconfigured"): [
        job(2286, "failed-on-w3", "FAILED", 1, 100, "NonZeroExitCode", asked=("w3",), nodes=("w3",),
            submit=1796046989, start=1796046990, end=1796046990),
        job(2288, "pend-w3", "NODE_FAIL", 1, 100, "NodeDown", "alice", asked=("w3",), submit=1796046994,
            start=1796047000, end=1796047000),
        job(2290, "later-not-w3", "PENDING", 1, 100, "BeginTime", submit=1796046994, start=1796050594,
            end=1796093794),
    ],
    ("22.05", "only-placeholder-pending"): [
        job(1293, "one", "PENDING", 1, 100, DOWN, "alice", submit=1796047266),
        job(1296, "big", "PENDING", 4, 4000, RESERVED, "alice", feature="worker&big", submit=1796047266),
        job(1297, "arr", "PENDING", 1, 100, RESERVED, "alice", tasks=ArrayTasks(5, 2), submit=1796047266),
        job(1299, "two", "PENDING", 2, 200, "PartitionNodeLimit", count=2, submit=1796047266),
        job(1300, "excl", "PENDING", 1, 100, RESERVED, exclusive=True, submit=1796047266),
    ],
    ("24.11", "only-placeholder-pending"): [
        job(2300, "one", "PENDING", 1, 100, DOWN, "alice", submit=1796047266),
        job(2303, "big", "PENDING", 4, 4000, RESERVED, "alice", feature="worker&big", submit=1796047266),
        job(2304, "arr", "PENDING", 1, 100, RESERVED, "alice", tasks=ArrayTasks(5, 2), submit=1796047266),
        job(2306, "two", "FAILED", 2, 200, "BadConstraints", count=2, submit=1796047266, start=1796047266,
            end=1796047266),
        job(2307, "excl", "PENDING", 1, 100, RESERVED, exclusive=True, submit=1796047266),
    ],
}  # fmt: skip
NUMBER_OF_JOBS = {
    "idle-no-jobs": (0, 0),
    "no-nodes-no-placeholder": (0, 0),
    "only-placeholder": (0, 0),
    "mixed": (47, 47),
    "mixed-after-restart": (47, 47),
    "all-drained": (59, 59),
    "suspended-and-completing": (2, 2),
    "node-deleted": (8, 8),
    "node-deleted-reconfigured": (8, 8),
    "only-placeholder-pending": (11, 12),
}
# The estimated start of a waiting array differs between the versions.
ESTIMATED = ("arr-run",)


@pytest.mark.parametrize(("version", "scenario"), EXPECTED)
def test_recorded_jobs(version, scenario):
    found = {job.job_id: job for job in parse_jobs(recorded(version, scenario, "squeue"), TOKEN)}
    for expected in EXPECTED[version, scenario]:
        got = found[expected.job_id]
        if expected.is_pending and expected.name.decode() in ESTIMATED:
            assert got.start_time is not None
            got = type(got)(**{**vars(got), "start_time": None, "end_time": None})
        assert got == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scenario", NUMBER_OF_JOBS)
def test_number_of_recorded_jobs(version, scenario):
    jobs = parse_jobs(recorded(version, scenario, "squeue"), TOKEN)
    assert len(jobs) == NUMBER_OF_JOBS[scenario][VERSIONS.index(version)]


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_names_that_hold_anything(version):
    names = {job.job_id: job.name for job in parse_jobs(recorded(version, "mixed", "squeue"), TOKEN)}
    assert names[142] == b"a|b"
    assert names[143] == 'x, "y" it\'s Größe ✓'.encode()
    assert names[144] == b"us\x1finside"
    assert names[145] == b"nl\nline two"
    assert names[146] == b""


def record(name=b"plain", **columns):
    values = dict.fromkeys(COLUMNS[:-1], "")
    values.update(
        JobID="7", ArrayJobID="7", ArrayTaskID="N/A", State="PENDING", Partition="main", NumCPUs="1", MinMemory="100M"
    )
    values.update({"tres-alloc": "cpu=1,mem=100M,node=1,billing=1", "Feature": "(null)", "OverSubscribe": "OK"})
    values.update(columns)
    return b"".join(values[column].encode() + b"\x1f" for column in COLUMNS[:-1]) + name + b"\x1etoken\n"


@settings(deadline=None)
@given(st.binary().filter(lambda name: b"\x1etoken\n" not in name))
def test_no_name_can_forge_a_record(name):
    """The token is new for every call, so a name cannot hold it."""
    jobs = parse_jobs(record(name) + record(JobID="8", ArrayJobID="8"), "token")
    assert [(job.job_id, job.name) for job in jobs] == [(7, name), (8, b"plain")]


@settings(deadline=None)
@given(st.integers(min_value=1))
def test_an_answer_that_is_cut_off_is_refused(length):
    whole = record() + record(JobID="8")
    cut = whole[: -(length % (len(whole) - 1) + 1)]
    if cut == record():
        assert len(parse_jobs(cut, "token")) == 1  # a whole record is indistinguishable from the end
    else:
        with pytest.raises(SlurmAnswerError, match="cut off"):
            parse_jobs(cut, "token")


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"JobID": ""}, "without a number"),
        ({"State": ""}, "without a number or a state"),
        ({"NumCPUs": "", "tres-alloc": ""}, "job 7"),
        ({"ArrayTaskID": "1-4,..."}, "array tasks"),
        ({"NodeList": "w[1-"}, "list of node names"),
        ({"tres-alloc": "cpu=1,mem=lots"}, "amount of memory"),
        ({"tres-alloc": "cpu"}, "resources"),
    ],
)
def test_a_record_that_cannot_be_read_is_refused(columns, what):
    with pytest.raises(SlurmAnswerError, match=what):
        parse_jobs(record(**columns), "token")


def test_another_number_of_columns_is_refused():
    with pytest.raises(SlurmAnswerError, match="22 columns instead of 23"):
        parse_jobs(record().replace(b"\x1f", b"", 1), "token")


@pytest.mark.parametrize(
    ("columns", "gpus"),
    [
        ({"tres-per-node": "gres:gpu:2", "tres-alloc": "cpu=2,mem=1G,node=2"}, 4),
        ({"tres-per-job": "gres/gpu:3"}, 3),
        ({"tres-per-task": "cpu=1,gres/gpu=1"}, 1),
        ({"tres-per-task": "cpu=1"}, 0),
        ({"tres-per-node": "gres/gpu:tesla:2"}, 2),
        ({"tres-per-node": "gres/gpu"}, 1),
    ],
)
def test_gpus_without_their_total(columns, gpus):
    """tres-alloc names GPUs only where AccountingStorageTRES does."""
    assert parse_jobs(record(**columns), "token")[0].gpus == gpus


def test_states_that_hold_a_node():
    live = [
        state
        for state in ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SOMETHING_NEW",
                      "COMPLETED", "CANCELLED", "NODE_FAIL", "TIMEOUT")
        if parse_jobs(record(State=state), "token")[0].is_live
    ]  # fmt: skip
    assert live == ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SOMETHING_NEW"]


def test_format_has_every_column_and_the_token():
    text = squeue_format("abc")
    assert text.startswith("JobID:\x1f,ArrayJobID:\x1f,")
    assert text.endswith("Reason:\x1f,Name:\x1eabc")
    assert [part.split(":")[0] for part in text.split(",")] == list(COLUMNS)
