# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards of a worker's decisions, for any situation that hypothesis can think of.

Each property is stated from the situation alone, without the code's own notions.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import (
    SERVICE_DONE,
    SERVICE_FAILED_SCALING,
    SERVICE_RUNNING,
    SERVICE_SCALING,
    SERVICE_UNDEPLOYING,
    SERVICE_WARNING,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import encode_attributes
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import IDLE_REASON, RETURNING_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import (
    decide_worker,
    is_returning,
    memory_after_change,
    memory_after_publication,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_line import tick_line
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import (
    WorkerMemory,
    worker_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import (
    BEGIN_RETURN,
    DRAIN,
    RETURN,
    WorkerPolicy,
    WorkerReading,
)
from tests.unit.plugins.pool_world import NOW, PREFIX, make_job, make_node, make_service, make_vm, name_of

LIVE_STATES = ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING"]
COUNTING_REASONS = ["Resources", "Priority", "None", "ReqNodeNotAvail, May be reserved for other job"]
OTHER_REASONS = ["JobHeldUser", "Dependency", "BeginTime", "PartitionNodeLimit", "QOSMaxCpuPerUserLimit"]
NODES = {
    "idle": ("IDLE", ""),
    "drained": ("IDLE+DRAIN", IDLE_REASON),
    "returning": ("IDLE+DRAIN", RETURNING_REASON),
    "drained by the portal": ("IDLE+DRAIN", "onehpc:direct:idle"),
}
ODD_REASONS = [
    "", IDLE_REASON, RETURNING_REASON, "disk", IDLE_REASON + "!", "onehpc:direct:returning", "Not responding",
]  # fmt: skip
ODD_STATES = [
    "IDLE", "IDLE+DRAIN", "MIXED", "ALLOCATED+DRAIN", "DOWN", "DOWN+DRAIN", "IDLE+NOT_RESPONDING", "IDLE+FAIL",
    "IDLE+DRAIN+NOT_RESPONDING", "IDLE+DRAIN+FAIL", "IDLE+DRAIN+INVALID_REG", "IDLE+COMPLETING", "IDLE+PLANNED",
    "IDLE+DRAIN+COMPLETING", "IDLE+RESERVED",
]  # fmt: skip
ODDITIES = [
    "own node", "own reason", "another node", "gone node", "live job", "waiting job", "asking job", "finished job",
    "useless job", "service state", "cardinality", "minimum", "vm", "order", "idle since", "pause", "memory", "scaling",
]  # fmt: skip


@st.composite
def worlds(draw):
    """A worker's reading, its policy and its memory: one in which something would happen, then up to three oddities.

    The workers are VMs 3, 4 and 5; the own one is the oldest, which is drained, returning or long idle.
    """
    odd = draw(st.lists(st.sampled_from(ODDITIES), max_size=3, unique=True))

    def pick(oddity, usual, *others):
        return draw(st.sampled_from(others)) if oddity in odd else usual

    ids = list(pick("order", (3, 4, 5), (5, 4, 3), (4, 3, 5)))
    state, reason = NODES[draw(st.sampled_from(sorted(NODES)))]
    nodes = {
        3: make_node(3, pick("own node", state, *ODD_STATES), pick("own reason", reason, *ODD_REASONS)),
        4: make_node(4, pick("another node", "IDLE", *ODD_STATES)),
        5: make_node(5, pick("another node", "IDLE", *ODD_STATES)),
    }
    nodes.pop(pick("gone node", None, 3, 4, 5), None)
    somewhere = st.sampled_from([name_of(3), name_of(3), name_of(4)])
    jobs = []
    if "live job" in odd:
        jobs.append(make_job(11, state=draw(st.sampled_from(LIVE_STATES)), nodes=[draw(somewhere)]))
    if "waiting job" in odd:
        jobs.append(make_job(12, reason=draw(st.sampled_from(COUNTING_REASONS))))
    if "asking job" in odd:
        jobs.append(make_job(13, reason=draw(st.sampled_from(COUNTING_REASONS)), required=[draw(somewhere)]))
    if "finished job" in odd:
        ended = NOW - draw(st.integers(10, 900))
        jobs.append(make_job(14, state="COMPLETED", nodes=[draw(somewhere)], end=ended))
    if "useless job" in odd:
        jobs.append(make_job(15, reason=draw(st.sampled_from(OTHER_REASONS))))
        jobs.append(make_job(16, cpus=64))
    service = make_service(
        ids, pick("cardinality", 3, 2, 4), pick("service state", SERVICE_RUNNING, *range(16))
    )  # fmt: skip
    memory = WorkerMemory(
        node_name=name_of(3),
        updated_at=pick("memory", NOW - 30, NOW - 5000, None),
        idle_since=pick("idle since", NOW - 5000, None, NOW - 599, NOW - 600, NOW + 9),
        is_drained_by_us=pick("memory", reason != "", False, True),
        drain_seconds=draw(st.sampled_from([0, 500, 570, 599, 600, 900])),
        drain_counted_until=pick("memory", NOW - 30, None, NOW - 5000),
        return_cause=draw(st.sampled_from(["", "time", "job"])),
        withdrawn_at=draw(st.sampled_from([NOW - 1000, NOW - 150, NOW - 149, NOW, None])),
        pause_seconds=1200,
        pause_until=pick("pause", None, NOW, NOW + 1, NOW + 5000),
        pause_cardinality=pick("pause", None, 3, 4),
        scaling_since=pick("memory", None, NOW - 900, NOW - 901),
    )
    policy = WorkerPolicy(
        PREFIX, idle_seconds=600, drain_seconds=600, min_vms=pick("minimum", 1, 0, 2, 3, 4),
        scaling=pick("scaling", "policies", "direct"),
    )  # fmt: skip
    reading = WorkerReading(
        NOW, SlurmReading(tuple(nodes.values()), tuple(jobs)), service, make_vm(3, running=pick("vm", True, False))
    )
    return policy, reading, memory


class Facts:
    """The situation in plain words."""

    def __init__(self, policy, reading):
        role = reading.service.role("worker")
        self.listed = [name_of(vm_id) for vm_id in role.vm_ids]
        nodes = {node.name: node for node in reading.slurm.nodes}
        self.own = nodes.get(name_of(reading.vm.id))
        self.oldest = nodes.get(self.listed[0])
        bad = {"NOT_RESPONDING", "INVALID_REG"}
        ours = {
            f"onehpc:{mode}:{what}" for mode in ("policies", "direct") for what in ("idle", "returning")
        }  # fmt: skip
        responding = [
            n for n in nodes.values()
            if n.name in self.listed and n.base_state != "DOWN" and not n.flags & bad
            and ("DRAIN" not in n.flags and not n.reason or "DRAIN" in n.flags and n.reason in ours)
        ]  # fmt: skip
        self.above_minimum = len(responding) > max(policy.min_vms, 1)
        waiting = [j for j in reading.slurm.jobs if j.state == "PENDING" and j.reason in COUNTING_REASONS]
        # Without a registered node of the role its shape is not known, and nothing counts.
        self.waiting = [j for j in waiting if not j.required_nodes and j.cpus < 64 and nodes]
        self.asked = {name for j in waiting for name in j.required_nodes}
        self.busy = {name for j in reading.slurm.jobs if j.state in LIVE_STATES for name in j.nodes}
        self.running = reading.service.state == SERVICE_RUNNING
        self.shrinking = role.cardinality < len(self.listed)


@settings(max_examples=400, deadline=None)
@given(worlds())
def test_drain_guards(world):
    policy, reading, memory = world
    decision = decide_worker(policy, reading, memory)
    if decision.change is None or decision.change.kind != DRAIN:
        return
    event("drain")
    facts = Facts(policy, reading)
    assert decision.change.reason == IDLE_REASON
    assert facts.own is facts.oldest
    assert (facts.own.base_state, facts.own.reason) == ("IDLE", "")
    assert facts.own.flags <= {"DYNAMIC_NORM", "PLANNED"}
    assert facts.own.name not in facts.busy | facts.asked
    assert not facts.waiting
    assert facts.running and not facts.shrinking and facts.above_minimum
    assert reading.vm.is_running
    ended = [job.end_time for job in reading.slurm.jobs if job.end_time and facts.own.name in job.nodes]
    assert all(NOW - end >= 600 for end in ended)
    role = reading.service.role("worker")
    assert not (
        memory.pause_until and memory.pause_until > NOW and memory.pause_cardinality in (None, role.cardinality)
    )
    if memory.idle_since is not None:
        assert memory.idle_since <= NOW - 600


@settings(max_examples=400, deadline=None)
@given(worlds())
def test_oldest_idle_guards(world):
    policy, reading, memory = world
    decision = decide_worker(policy, reading, memory)
    facts = Facts(policy, reading)
    if policy.scaling == "direct":
        assert (decision.figures.slurm_pending, decision.figures.oldest_idle, decision.change) == (0, 0, None)
        return
    assert decision.figures.slurm_pending == len(facts.waiting)
    if decision.figures.oldest_idle == 0:
        return
    event("oldest idle")
    assert decision.figures.oldest_idle == 1
    assert (facts.oldest.base_state, facts.oldest.reason) == ("IDLE", IDLE_REASON)
    assert facts.oldest.flags <= {"DYNAMIC_NORM", "DRAIN", "FAIL"} and "DRAIN" in facts.oldest.flags
    assert facts.oldest.name not in facts.busy | facts.asked
    assert not facts.waiting
    assert facts.running and not facts.shrinking and facts.above_minimum
    assert decision.change is None or decision.change.kind == DRAIN and facts.own is not facts.oldest


@settings(max_examples=400, deadline=None)
@given(worlds())
def test_return_guards(world):
    policy, reading, memory = world
    decision = decide_worker(policy, reading, memory)
    if decision.change is None or decision.change.kind == DRAIN:
        return
    event(decision.change.kind)
    facts = Facts(policy, reading)
    assert "DRAIN" in facts.own.flags
    assert facts.own.base_state != "DOWN"
    assert not facts.own.flags & {"FAIL", "INVALID_REG", "NOT_RESPONDING"}
    assert reading.service.state not in (SERVICE_UNDEPLOYING, SERVICE_DONE)
    assert not facts.shrinking
    assert decision.figures.oldest_idle == 0 or facts.own is not facts.oldest
    if decision.change.kind == BEGIN_RETURN:
        state = reading.service.state
        is_stuck = state == SERVICE_SCALING and memory.scaling_since == NOW - 901
        assert facts.own.reason in ("onehpc:direct:idle", "onehpc:direct:returning") or (
            facts.own.reason == IDLE_REASON
            and (
                facts.waiting
                or facts.own.name in facts.asked
                or decision.memory.drain_seconds >= policy.drain_seconds
                or state in (SERVICE_WARNING, SERVICE_FAILED_SCALING)
                or is_stuck
            )
        )
        assert decision.figures.oldest_idle == 0
    else:
        assert decision.change.kind == RETURN
        assert facts.own.reason == RETURNING_REASON
        assert memory.withdrawn_at is not None and NOW - memory.withdrawn_at >= 150
        assert reading.vm.is_running


@settings(max_examples=200, deadline=None)
@given(worlds(), st.sampled_from(["policies", "direct"]))
def test_the_figures_of_any_situation(world, scaling):
    policy, reading, memory = world
    figures = decide_worker(replace(policy, scaling=scaling), reading, memory).figures
    facts = Facts(policy, reading)
    on_own = [job for job in reading.slurm.jobs if job.state in LIVE_STATES and name_of(3) in job.nodes]
    assert figures.active_sessions == sum(1 for job in on_own if job.state != "COMPLETING")
    assert figures.idle_seconds == 0 if on_own and facts.own else figures.idle_seconds >= 0
    busy = sum(1 for node in reading.slurm.nodes if node.name in facts.busy)
    assert (figures.slurm_alloc_nodes, figures.slurm_idle_nodes) == (busy, len(reading.slurm.nodes) - busy)
    assert bool(figures.session_users) == (figures.active_sessions > 0)
    # The workers that are wanted are told in either mode.
    assert figures.slurm_wanted <= len(facts.waiting)
    encode_attributes(figures.attributes())
    assert all(str(value).isdigit() for name, value in figures.attributes().items() if name != "SESSION_USERS")


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_the_line_in_the_log(world):
    policy, reading, memory = world
    decision = decide_worker(policy, reading, memory)
    line = tick_line(reading, decision, decision.change is not None, "")
    assert line.isprintable() and line.endswith(".")
    place = reading.service.role("worker").vm_ids.index(3) + 1
    assert line.startswith(f"worker 3 ({'oldest' if place == 1 else f'number {place}'} of 3): pending ")
    assert ("; nothing changed: " in line) == (decision.change is None)


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_the_memory_file_keeps_everything(world):
    policy, reading, memory = world
    kept = decide_worker(policy, reading, memory).memory
    assert worker_memory_from_json(kept.to_json(), kept.node_name) == kept
    assert worker_memory_from_json(kept.to_json(), "another") == WorkerMemory("another")


@settings(max_examples=150, deadline=None)
@given(worlds(), st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers())))
def test_a_damaged_memory_is_started_anew(world, damage):
    policy, reading, memory = world
    data = {**memory.to_json(), **damage, "shapes": [{"cpus": "many"}]}
    assert worker_memory_from_json(data, memory.node_name) == WorkerMemory(memory.node_name)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_node_returns_only_when_oldest_idle_has_been_0_for_150_seconds(data):
    """A worker's life: ticks in any situation, changes made or not, publications answered or not."""
    memory = WorkerMemory(name_of(3))
    policy = WorkerPolicy(PREFIX, idle_seconds=60, drain_seconds=90, min_vms=1)
    now, reason, published = NOW, "", [(NOW - 9000, 1)]
    for _tick in range(data.draw(st.integers(5, 40))):
        now += data.draw(st.sampled_from([30, 30, 30, 31, 200]))
        node = make_node(3, "IDLE+DRAIN" if reason else "IDLE", reason)
        jobs = [make_job()] if data.draw(st.integers(0, 5)) == 0 else []
        slurm = SlurmReading((node, make_node(4)), tuple(jobs)) if data.draw(st.integers(0, 9)) else None
        reading = WorkerReading(
            now, slurm, make_service(state=data.draw(st.sampled_from([2, 2, 2, 2, 10]))), make_vm(3)
        )
        decision = decide_worker(policy, reading, memory)
        made = decision.change is not None and data.draw(st.integers(0, 4)) > 0
        memory = memory_after_change(decision, policy, reading) if made else decision.memory
        if made:
            reason = decision.change.reason
            if decision.change.kind == RETURN:
                event("returned")
                since_one = now - max(at for at, figure in published if figure == 1)
                first_zero = min(at for at, figure in published if figure == 0 and at > now - since_one)
                assert now - first_zero >= 150
        if data.draw(st.integers(0, 4)):
            published.append((now, decision.figures.oldest_idle))
            memory = memory_after_publication(
                memory, is_returning(decision, made, reading), decision.figures.oldest_idle, now
            )
        memory = worker_memory_from_json(memory.to_json(), memory.node_name)


@pytest.mark.parametrize("broken", ["name", "role"])
def test_the_facts_of_this_file_can_be_violated(broken):
    """A guard that could not fail would prove nothing: Facts must tell situations apart."""
    policy = WorkerPolicy(PREFIX, 600, 600, 1)
    reading = WorkerReading(
        NOW, SlurmReading((make_node(3), make_node(4)), (make_job(),)), make_service([3, 4]), make_vm(3)
    )
    assert Facts(policy, reading).waiting
    one = replace(reading, service=make_service([3]), slurm=SlurmReading((make_node(3),), ()))
    assert not Facts(policy, one).above_minimum
