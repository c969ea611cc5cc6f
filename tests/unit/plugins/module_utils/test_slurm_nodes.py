# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol's nodes: recorded on both versions, and free text of administrators that must not pass for a field."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode, parse_nodes
from tests.unit.plugins.slurm_samples import SAMPLES, VERSIONS, recorded

COMMA_REASON = "onehpc:policies idle, since 13:40 [a=b] | x (1)"
EMPTY_SCENARIOS = ("no-nodes-no-placeholder", "only-placeholder", "only-placeholder-pending")
BOOT = 1796038298


def node(
    name, state, address, cpus, memory_mib, features, busy, started, allocated=0, gpus=0, reason="", boot=BOOT,
    partitions="main,all", user="root", reason_time=None,
):  # fmt: skip
    """A node as it should be read, with what most nodes have left out."""
    base, *flags = state.split("+")
    return SlurmNode(
        name, base, frozenset([*flags, "DYNAMIC_NORM"]), address, cpus, allocated, memory_mib,
        frozenset(features.split(",")), gpus, frozenset(partitions.split(",")), reason, user if reason else "",
        reason_time, boot, started, busy,
    )  # fmt: skip


def three(net, states, allocated, busy, started, reasons=("", "", ""), boot=(BOOT,) * 3, at=None):
    """w1, w2, w3 of the recordings."""
    return [
        node(name, state, f"10.{net}.0.1{number}", cpus, memory, features, busy_at, started_at, used, gpus, reason,
             booted, reason_time=at if reason else None)
        for number, name, state, cpus, memory, features, gpus, used, busy_at, started_at, reason, booted in zip(
            (1, 2, 3), ("w1", "w2", "w3"), states, (2, 8, 5), (4000, 8000, 8000),
            ("worker", "worker,big", "worker,gpu"), (0, 0, 1), allocated, busy, started, reasons, boot, strict=True,
        )
    ]  # fmt: skip


# What the recordings say, copied from them by eye.
EXPECTED = {
    ("22.05", "mixed"): three(
        22, ("ALLOCATED", "ALLOCATED", "MIXED+COMPLETING"), (2, 8, 3), (1796045641, 1796045629, 1796045629),
        (1796045629,) * 3,
    ),
    ("24.11", "mixed"): three(
        24, ("ALLOCATED", "ALLOCATED", "MIXED+COMPLETING+PLANNED"), (2, 8, 3), (1796045641, 1796045629, 1796045629),
        (1796045629,) * 3,
    ),
    ("22.05", "idle-no-jobs"): three(22, ("IDLE",) * 3, (0, 0, 0), (1796045629,) * 3, (1796045629,) * 3),
    ("24.11", "idle-no-jobs"): three(24, ("IDLE",) * 3, (0, 0, 0), (1796045629,) * 3, (1796045629,) * 3),
    ("22.05", "all-drained"): three(
        22, ("MIXED+DRAIN", "IDLE+DRAIN", "IDLE+DRAIN"), (1, 0, 0), (1796045771, 1796045803, 1796045771),
        (1796045766, 1796045629, 1796045629), (COMMA_REASON,) * 3, (BOOT + 1,) * 3, at=1796045808,
    ),
    ("22.05", "suspended-and-completing"): three(
        22, ("IDLE", "IDLE", "IDLE+COMPLETING+DRAIN"), (0, 0, 0), (1796046888, 1796046977, 1796046977),
        (1796045766, 1796046871, 1796046761), ("", "", "onehpc:direct test"), at=1796046977,
    ),
    ("22.05", "node-deleted"): three(
        22, ("IDLE", "IDLE", "IDLE"), (0, 0, 0), (1796046992, 1796046985, 0), (1796045766, 1796046871, 0),
    )[:2],
    ("24.11", "node-deleted"): three(
        24, ("IDLE", "IDLE", "IDLE"), (0, 0, 0), (1796046990, 1796046985, 0), (1796046646, 1796046871, 0),
        boot=(BOOT + 1,) * 3,
    )[:2],
}  # fmt: skip
NUMBER_OF_NODES = {
    "mixed": 3, "mixed-after-restart": 3, "idle-no-jobs": 3, "all-drained": 3, "suspended-and-completing": 3,
    "node-deleted": 2, "node-deleted-reconfigured": 2,
}  # fmt: skip
# State, allocated CPUs and reason of the recordings that are not in EXPECTED as a whole.
STATES = {
    ("22.05", "mixed-after-restart"): [
        ("w1", "ALLOCATED+DYNAMIC_NORM", 2, ""), ("w2", "ALLOCATED+DYNAMIC_NORM", 8, ""),
        ("w3", "MIXED+COMPLETING+DYNAMIC_NORM", 3, ""),
    ],
    ("24.11", "mixed-after-restart"): [
        ("w1", "ALLOCATED+DYNAMIC_NORM", 2, ""), ("w3", "MIXED+COMPLETING+DYNAMIC_NORM+PLANNED", 3, ""),
        ("w2", "ALLOCATED+DYNAMIC_NORM", 8, ""),
    ],
    ("24.11", "all-drained"): [
        ("w1", "MIXED+DRAIN+DYNAMIC_NORM", 1, COMMA_REASON), ("w3", "IDLE+DRAIN+DYNAMIC_NORM", 0, COMMA_REASON),
        ("w2", "IDLE+DRAIN+DYNAMIC_NORM", 0, COMMA_REASON),
    ],
    ("24.11", "suspended-and-completing"): [
        ("w1", "IDLE+DYNAMIC_NORM", 0, ""), ("w3", "IDLE+COMPLETING+DRAIN+DYNAMIC_NORM", 0, "onehpc:direct test"),
        # Only 24.11 shows that a suspended job is on the node.
        ("w2", "MIXED+DYNAMIC_NORM", 0, ""),
    ],
    ("22.05", "node-deleted-reconfigured"): [
        ("w1", "IDLE+DYNAMIC_NORM", 0, ""), ("w2", "IDLE+DYNAMIC_NORM", 0, ""),
    ],
    ("24.11", "node-deleted-reconfigured"): [
        ("w1", "IDLE+DYNAMIC_NORM", 0, ""), ("w2", "IDLE+DYNAMIC_NORM", 0, ""),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("version", "scenario"), EXPECTED)
def test_recorded_nodes(version, scenario):
    found = {node.name: node for node in parse_nodes(recorded(version, scenario, "nodes"))}
    assert found == {node.name: node for node in EXPECTED[version, scenario]}


@pytest.mark.parametrize(("version", "scenario"), STATES)
def test_recorded_states(version, scenario):
    nodes = parse_nodes(recorded(version, scenario, "nodes"))
    found = {node.name: (node.name, node.state, node.allocated_cpus, node.reason) for node in nodes}
    assert found == {expected[0]: expected for expected in STATES[version, scenario]}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_scenario_is_read(version):
    numbers = {scenario: len(parse_nodes(recorded(version, scenario, "nodes"))) for scenario in NUMBER_OF_NODES}
    assert numbers == NUMBER_OF_NODES


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scenario", EMPTY_SCENARIOS)
def test_no_nodes_is_said_and_not_just_empty(version, scenario):
    assert parse_nodes(recorded(version, scenario, "nodes")) == ()


@pytest.mark.parametrize(("version", "net", "w2_state"), [("22.05", 22, "MIXED"), ("24.11", 24, "MIXED+PLANNED")])
def test_recorded_nodes_with_times_as_text(version, net, w2_state):
    """Without SLURM_TIME_FORMAT=%s the times are local text: not known rather than wrong."""
    nodes = {node.name: node for node in parse_nodes((SAMPLES / version / "scontrol_o_show_node.txt").read_bytes())}
    w1, w2, w3 = (nodes[name] for name in ("w1", "w2", "w3"))
    assert w1 == node("w1", "ALLOCATED", f"10.{net}.0.11", 2, 4000, "worker", None, None, allocated=2, boot=None)
    assert w2 == node(
        "w2", w2_state, f"10.{net}.0.12", 2, 4000, "worker,gpu", None, None, allocated=1, gpus=1, boot=None
    )
    assert (w3.state, w3.cpus, w3.memory_mib, sorted(w3.features)) == ("IDLE+DYNAMIC_NORM", 8, 8000, ["big", "worker"])


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_states_of_trouble(version):
    nodes = {
        node.name: node for node in parse_nodes((SAMPLES / version / "states_scontrol_o_show_node.txt").read_bytes())
    }
    w1, w2, w3, w4 = (nodes[name] for name in ("w1", "w2", "w3", "w4"))
    assert (w3.state, w3.reason, w3.reason_user) == ("DOWN+DYNAMIC_NORM", "vm 12 left", "root")
    assert (w3.is_gone_for_slurm, w3.is_responding, w3.is_untouched) == (True, False, False)
    assert (w1.has_drain_flag, w1.reason, w1.base_state) == (True, "scale down: idle 600s", "IDLE")
    assert (w2.state, w2.reason) == ("MIXED+DRAIN+DYNAMIC_NORM", "operator, please (wait)")
    assert w4.state == "IDLE+DRAIN+DYNAMIC_NORM+INVALID_REG"
    assert (w4.reason, w4.reason_user) == ("gres/gpu count reported lower than configured (0 < 1)", "slurm")
    assert (w4.is_responding, w4.is_gone_for_slurm, w4.gpus) == (False, False, 1)


def line(reason="", after="", state="IDLE+DRAIN+DYNAMIC_NORM", name="w1"):
    """A node as 22.05 prints it."""
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=4 CPULoad=0.43 "
        "AvailableFeatures=worker ActiveFeatures=worker Gres=(null) NodeAddr=10.22.0.11 NodeHostName=w1 Port=2 "
        "Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC  RealMemory=4000 AllocMem=0 FreeMem=N/A Sockets=2 "
        f"Boards=1 MemSpecLimit=100 State={state} ThreadsPerCore=1 Partitions=main  BootTime=None "
        f"LastBusyTime=Unknown CfgTRES=cpu=2 AllocTRES={reason and ' Reason=' + reason}{after}"
    )


def only(text):
    (found,) = parse_nodes(text.encode() + b"\n")
    return found


OURS = "onehpc:policies:idle"


def test_a_plain_reason_with_a_comment_behind_it():
    found = only(line(f"{OURS} [root@1796045808]", ' Comment=vm 123 Extra={"vm":123}'))
    assert (found.reason, found.reason_user, found.reason_time) == (OURS, "root", 1796045808)


@pytest.mark.parametrize(
    "text",
    [
        f"{OURS} but stay [root@1796045808]",
        f"{OURS} [root@1796045808] Comment=stay [bob@1796045809]",
        # Slurm prints who and when behind the first line of a reason, and the other lines after that.
        f"{OURS} [root@1796045808]         hands off",
        f"{OURS} [x] [root@1796045808]",
        f"{OURS} State=IDLE [root@1796045808]",
        f"{OURS}\nNodeName is mine [root@1796045808]",
    ],
)
def test_a_reason_that_only_begins_like_ours_is_not_ours(text):
    found = only(line(text))
    assert found.reason != OURS
    assert found.reason.startswith(OURS)
    assert found.state == "DRAIN+".join(["IDLE+", "DYNAMIC_NORM"])


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_no_reason_can_pass_for_another_field(text):
    found = only(line(f"{text} State=ALLOCATED CPUTot=99 [root@1796045808]"))
    assert (found.base_state, found.cpus, found.name) == ("IDLE", 2, "w1")
    assert found.reason == f"{text} State=ALLOCATED CPUTot=99"


def test_a_comment_cannot_pass_for_a_field_either():
    found = only(line(after=f" Comment=x State=DOWN Reason={OURS} [root@1] Extra=CPUTot=99"))
    assert (found.base_state, found.reason, found.cpus) == ("IDLE", "", 2)


def test_what_jobs_can_get():
    """Specialized cores and memory are not on offer."""
    found = only(line())
    assert (found.cpus, found.memory_mib) == (2, 3900)


@pytest.mark.parametrize(
    ("state", "base", "flags"),
    [
        ("DOWN*+DYNAMIC_NORM", "DOWN", {"NOT_RESPONDING", "DYNAMIC_NORM"}),
        ("IDLE~-", "IDLE", {"POWERED_DOWN", "PLANNED"}),
        ("FUTURE+DYNAMIC_NORM", "FUTURE", {"DYNAMIC_NORM"}),
        ("IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN", "IDLE", {"CLOUD", "DYNAMIC_NORM", "POWERED_DOWN"}),
    ],
)
def test_states(state, base, flags):
    found = only(line(state=state))
    assert (found.base_state, found.flags) == (base, frozenset(flags))


@pytest.mark.parametrize(
    "output",
    [
        "",
        "slurm_load_node error: something",
        line() + "\n" + line(),
        line(state=""),
        line(state="idle"),
        line().replace("RealMemory=4000", ""),
        line().replace("RealMemory=4000", "RealMemory=many"),
        "No nodes in the system\n" + line(),
    ],
)
def test_anything_else_is_an_error_and_never_no_nodes(output):
    with pytest.raises(SlurmAnswerError):
        parse_nodes(output.encode())
