# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards of scaling mode direct, for any situation that hypothesis can think of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_memory import (
    DirectMemory,
    DirectNode,
    DirectRights,
    DirectRole,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_outcome import (
    after_change,
    after_refused_growth,
    after_refused_terminate,
    before_terminate,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import DRAIN_REASONS
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import decide_portal
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import (
    PortalMemory,
    portal_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import PortalPolicy, PortalReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from tests.unit.plugins.pool_world import NOW, PORTAL_ID, PREFIX, make_job, make_node, make_service, make_vm, name_of

IDS = (3, 4, 5, 6, 7, 8)
STATES = ["IDLE"] * 6 + ["MIXED", "ALLOCATED", "DOWN", "IDLE+NOT_RESPONDING", "IDLE+INVALID_REG", "IDLE+COMPLETING"]
DRAINED = ["IDLE+DRAIN"] * 6 + ["MIXED+DRAIN", "DOWN+DRAIN", "IDLE+DRAIN+NOT_RESPONDING", "IDLE+DRAIN+FAIL"]
REASONS = ["onehpc:direct:idle"] * 6 + [
    "onehpc:direct:returning", "onehpc:policies:idle", "onehpc:policies:returning", "disk", "onehpc:direct:idle!",
]  # fmt: skip
LIVE = ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "RESIZING"]
RUNNING = 2
ASKED = st.sampled_from([None, None, None, NOW - 100, NOW - 299, NOW - 300, NOW - 900])


@st.composite
def policies(draw):
    return PortalPolicy(
        PREFIX, {}, scaling="direct", min_vms=draw(st.sampled_from([1, 1, 1, 2])),
        max_vms=draw(st.sampled_from([0, 0, 3, 6])), idle_seconds=draw(st.sampled_from([0, 600])), drain_seconds=600,
    )  # fmt: skip


# What disturbs a situation; most are calm, or nothing would be decided.
DISTURBANCES = ["", "", "", "", "unread", "not running", "oldest idle", "state", "cardinality", "waiting", "waiting"]


@st.composite
def readings(draw, now=NOW):
    """Up to four workers and two big ones."""
    disturbance = draw(st.sampled_from(DISTURBANCES))
    victim = draw(st.sampled_from(IDS))
    count = draw(st.integers(2, 4))
    roles = {"worker": IDS[:count], "worker_big": IDS[count : count + draw(st.integers(0, 2))]}
    nodes, vms = [], {}
    for role, ids in roles.items():
        for vm_id in ids:
            kind = draw(st.sampled_from(["idle", "idle", "idle", "idle", "drained", "drained", "odd", "none"]))
            vms[vm_id] = make_vm(vm_id, role, READY="NO" if kind == "none" else "YES", OLDEST_IDLE="0")
            state, reason = {"idle": ("IDLE", ""), "drained": ("IDLE+DRAIN", "onehpc:direct:idle")}.get(kind, ("", ""))
            if kind == "odd":
                state = draw(st.sampled_from(STATES + DRAINED))
                reason = draw(st.sampled_from(REASONS)) if "DRAIN" in state else draw(st.sampled_from(["", "disk"]))
            if kind != "none":
                nodes.append(make_node(vm_id, state, reason, features=[role]))
    if disturbance == "unread":
        vms.pop(victim, None)
    elif disturbance in ("not running", "oldest idle") and victim in vms:
        role = vms[victim].role_name
        vms[victim] = make_vm(victim, role, disturbance != "not running", READY="YES", OLDEST_IDLE="1")
    listed = len(roles["worker"])
    return PortalReading(
        now=now,
        slurm=SlurmReading(
            (*nodes, make_node("gpu-box", "IDLE+DRAIN", "onehpc:direct:idle")), draw(jobs(disturbance == "waiting"))
        ),
        service=make_service(
            roles["worker"], state=draw(st.sampled_from([8, 10, 4, 9, 1, 3])) if disturbance == "state" else RUNNING,
            cardinality=listed + (draw(st.sampled_from([1, -1])) if disturbance == "cardinality" else 0),
            worker_big=roles["worker_big"],
        ),
        own_vm_id=PORTAL_ID,
        worker_vms=vms,
    )  # fmt: skip


@st.composite
def jobs(draw, some_wait):
    """Live jobs anywhere, one that asks for a node, and jobs that take any worker whole."""
    where = st.sampled_from([name_of(vm_id) for vm_id in IDS])
    live = draw(st.lists(st.tuples(st.sampled_from(LIVE), where), max_size=2))
    asking = draw(st.lists(where, max_size=1)) if some_wait else []
    count = draw(st.sampled_from([1, 5])) if some_wait else 0
    return (
        *(make_job(number, state=state, nodes=[name], cpus=2) for number, (state, name) in enumerate(live, 1)),
        *(make_job(20, cpus=2, required=[name]) for name in asking),
        *(make_job(30 + number, cpus=2) for number in range(count)),
    )


@st.composite
def memories(draw):
    """Mostly of a pool that has been watched for long."""
    nodes = {
        name_of(vm_id): DirectNode(
            updated_at=NOW - 30, idle_since=NOW - draw(st.sampled_from([5000, 5000, 600, 599])),
            is_drained_by_us=True, empty_since=draw(st.sampled_from([NOW - 30, NOW - 30, None])),
            drain_seconds=draw(st.sampled_from([0, 0, 600])), asked_at=draw(ASKED),
            unready_since=draw(st.sampled_from([NOW - 900, NOW - 899, None])),
        )
        for vm_id in IDS
    }  # fmt: skip
    role = DirectRole(
        policies_seen_at=draw(st.sampled_from([NOW - 150] * 5 + [NOW - 149, None])),
        largest_rise=draw(st.sampled_from([None, None, 0, 1])),
        refused_cardinality=draw(st.sampled_from([2, 3])),
    )
    rights = DirectRights(no_terminate_at=draw(st.sampled_from([None] * 5 + [NOW - 60])))
    return DirectMemory(nodes=nodes, roles={"worker": role, "worker_big": role}, rights=rights)


def in_service(reading, role):
    nodes = {node.name: node for node in reading.slurm.nodes}
    listed = [nodes[name_of(vm_id)] for vm_id in role.vm_ids if name_of(vm_id) in nodes]
    responding = [n for n in listed if n.base_state in ("IDLE", "MIXED", "ALLOCATED")
                  and not n.flags & {"NOT_RESPONDING", "INVALID_REG"}]  # fmt: skip
    return [node for node in responding if "DRAIN" not in node.flags and not node.reason]


def holds_job(reading, name):
    return any(job.state in LIVE and name in job.nodes for job in reading.slurm.jobs)


@settings(max_examples=800, deadline=None)
@given(policies(), readings(), memories())
def test_guards(policy, reading, memory):
    decision = decide_portal(policy, reading, PortalMemory(direct=memory)).direct
    nodes = {node.name: node for node in reading.slurm.nodes}
    listed = {name_of(vm_id): role for role in reading.service.worker_roles() for vm_id in role.vm_ids}
    told = [change.node_name for change in decision.changes]
    assert len(set(told)) == len(told)
    for change in decision.changes:
        event(change.kind)
        node = nodes[change.node_name]
        assert node.name in listed
        assert change.found_reason == node.reason
        if change.kind == "drain":
            assert not node.reason and "DRAIN" not in node.flags
            assert node.base_state == "IDLE" and not holds_job(reading, node.name)
            assert reading.service.state == RUNNING
            assert policy.idle_seconds == 0 or memory.nodes[node.name].idle_since <= NOW - 600
        else:
            assert node.reason in DRAIN_REASONS and "DRAIN" in node.flags
            assert node.base_state != "DOWN" and not node.flags & {"FAIL", "INVALID_REG", "NOT_RESPONDING"}
            asked_at = memory.nodes[node.name].asked_at
            assert asked_at is None or NOW - asked_at >= 300
            assert reading.service.state != 3
            assert reading.worker_vms[int(node.name[len(PREFIX) :])].is_running
    for role in reading.service.worker_roles():
        drains = [one for one in decision.changes if one.kind == "drain" and listed[one.node_name] is role]
        assert not drains or len(in_service(reading, role)) - len(drains) >= policy.min_vms
        ended = [one for one in decision.terminations if listed[one.node_name] is role]
        assert len(ended) <= 1
        for termination in ended:
            event("terminate" if termination.is_drained else "terminate one that never came up")
            check_termination(termination, policy, reading, memory, nodes, role)
            assert termination.node_name not in told
    if decision.growth is not None:
        event("grow")
        role = reading.service.role(decision.growth.role_name)
        assert reading.service.state == RUNNING
        assert decision.growth.cardinality_before == role.cardinality < decision.growth.cardinality
        assert not policy.max_vms or decision.growth.cardinality <= policy.max_vms


def check_termination(termination, policy, reading, memory, nodes, role):
    node = nodes.get(termination.node_name)
    before = memory.nodes[termination.node_name]
    assert termination.node_name == name_of(termination.vm_id)
    assert not holds_job(reading, termination.node_name)
    assert before.asked_at is None
    assert reading.worker_vms[termination.vm_id].is_running
    if termination.is_drained:
        assert (node.base_state, node.reason) == ("IDLE", "onehpc:direct:idle")
        assert "DRAIN" in node.flags and "NOT_RESPONDING" not in node.flags and "COMPLETING" not in node.flags
        assert before.empty_since is not None and before.empty_since < NOW
        assert reading.service.state == RUNNING
        assert len(in_service(reading, role)) >= policy.min_vms
    else:
        assert before.unready_since <= NOW - 900
        assert node is None or node not in in_service(reading, role)
        assert reading.worker_vms[termination.vm_id].user_template["READY"] != "YES"


def test_everything_that_the_guards_speak_of_is_tried():
    found = Counter()

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(policies(), readings(), memories())
    def look(policy, reading, memory):
        direct = decide_portal(policy, reading, PortalMemory(direct=memory)).direct
        found.update(change.kind for change in direct.changes)
        found.update("terminate" if one.is_drained else "late" for one in direct.terminations)
        found.update(["grow"] if direct.growth else [])

    look()
    assert set(found) == {"drain", "begin-return", "return", "terminate", "late", "grow"}
    assert min(found.values()) >= 8, found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_vm_is_terminated_only_after_an_earlier_reading_showed_it_drained_and_empty(data):
    """Ticks at any distance; what was shown is kept beside the code's own memory."""
    policy = PortalPolicy(PREFIX, {}, scaling="direct", idle_seconds=0)
    memory, now, seen = PortalMemory(), NOW, {}
    for _tick in range(data.draw(st.integers(2, 12))):
        now += data.draw(st.sampled_from([5, 30, 30, 30, 100, 160, 300]))
        reading = replace(data.draw(readings()), now=now)
        decision = decide_portal(policy, reading, memory)
        for termination in decision.direct.terminations:
            if termination.is_drained:
                event("terminated")
                assert seen[termination.node_name]
        for node in reading.slurm.nodes:
            seen[node.name] = node.reason == "onehpc:direct:idle" and not holds_job(reading, node.name)
        memory = portal_memory_from_json(decision.memory.to_json())


class TestOutcomes:
    MEMORY = DirectMemory(nodes={name_of(3): DirectNode(asked_at=5, idle_since=7)}, roles={"worker": DirectRole()})

    def ended_by_time(self, memory, now=NOW):
        reading = PortalReading(
            NOW, SlurmReading((make_node(3, "IDLE+DRAIN", "onehpc:direct:idle"), make_node(4)), ()), make_service(),
            PORTAL_ID, {3: make_vm(3)},
        )  # fmt: skip
        old = DirectNode(updated_at=NOW - 30, drain_seconds=700)
        before = DirectMemory(nodes={name_of(3): old}, roles={"worker": DirectRole(policies_seen_at=NOW - 500)})
        policy = PortalPolicy(PREFIX, {}, scaling="direct")
        (change,) = decide_portal(policy, reading, PortalMemory(direct=before)).direct.changes
        assert change.ends_by_time
        return after_change(memory, change, "worker", 2, 600, now)

    def test_a_pause_doubles_up_to_a_day(self):
        memory, pauses = self.MEMORY, []
        for _time in range(10):
            memory = self.ended_by_time(memory)
            pauses.append(memory.roles["worker"].pause_seconds)
        assert pauses[:3] == [1200, 2400, 4800]
        assert max(pauses) == 24 * 3600
        assert (memory.roles["worker"].pause_until, memory.roles["worker"].pause_cardinality) == (NOW + 86400, 2)

    def test_a_returned_node_is_idle_from_now_and_may_be_terminated_again(self):
        node = self.ended_by_time(self.MEMORY).nodes[name_of(3)]
        assert (node.asked_at, node.idle_since) == (None, NOW)

    def test_a_terminate_is_remembered_and_forgotten_when_refused(self):
        asked = before_terminate(self.MEMORY, name_of(3), NOW)
        assert asked.nodes[name_of(3)].asked_at == NOW
        refused = after_refused_terminate(asked, name_of(3), False, NOW)
        assert (refused.nodes[name_of(3)].asked_at, refused.rights) == (None, DirectRights())
        forbidden = after_refused_terminate(asked, name_of(3), True, NOW)
        assert forbidden.rights == DirectRights(no_terminate_at=NOW)

    def test_a_refused_rise_is_halved_down_to_one_and_then_the_role_is_full(self):
        busy = make_job(1, state="RUNNING", nodes=[name_of(3)], cpus=2)
        jobs = (busy, *(make_job(10 + number, cpus=2) for number in range(9)))
        service = make_service([3])
        reading = PortalReading(
            NOW, SlurmReading((make_node(3, "ALLOCATED"),), jobs), service, PORTAL_ID, {3: make_vm(3)}
        )
        policy, memory, asked = PortalPolicy(PREFIX, {}, scaling="direct"), DirectMemory(), []
        while True:
            direct = decide_portal(policy, reading, PortalMemory(direct=memory)).direct
            if direct.growth is None:
                break
            asked.append(direct.growth.cardinality)
            memory = after_refused_growth(direct.memory, direct.growth, False, NOW)
        assert asked == [10, 5, 3, 2]
        grown = replace(reading, service=make_service([3], cardinality=2))
        assert decide_portal(policy, grown, PortalMemory(direct=memory)).direct.growth.cardinality == 10

    def test_a_forbidden_growth_is_remembered(self):
        growth = type("Growth", (), {"role_name": "worker", "cardinality": 4, "cardinality_before": 2})()
        assert after_refused_growth(self.MEMORY, growth, True, NOW).rights == DirectRights(no_growth_at=NOW)
