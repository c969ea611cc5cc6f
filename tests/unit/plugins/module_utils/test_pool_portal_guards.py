# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards of the portal's decisions, for any situation that hypothesis can think of."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal import (
    decide_portal,
    vm_ids_to_ask_for,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_memory import (
    PortalMemory,
    portal_memory_from_json,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_portal_reading import (
    PortalPolicy,
    PortalReading,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_removal import DELETE
from tests.unit.plugins.pool_world import NOW, PORTAL_ID, PREFIX, make_job, make_node, make_service, make_vm, name_of

POLICY = PortalPolicy(PREFIX, {})
STATES = ["DOWN", "DOWN+NOT_RESPONDING", "IDLE+NOT_RESPONDING", "IDLE", "MIXED", "IDLE+DRAIN", "DOWN+DRAIN"]
LIVE = ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "RESIZING"]
FINISHED = ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"]
IDS = st.sampled_from([3, 4, 5, 6])


@st.composite
def readings(draw, now=NOW):
    listed = draw(st.lists(IDS, max_size=3, unique=True))
    registered = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    nodes = [
        make_node(
            vm_id, draw(st.sampled_from(STATES)), draw(st.sampled_from(["", "", "disk", "onehpc:policies:vm-gone"])),
            draw(st.sampled_from(["root", "slurm"])), address=f"10.77.0.{draw(st.sampled_from([vm_id, vm_id, 3, 4]))}",
        )
        for vm_id in registered
    ]  # fmt: skip
    jobs = []
    for number in range(draw(st.sampled_from([0, 1, 2]))):
        where = [name_of(draw(st.sampled_from(registered)))]
        kind = draw(st.sampled_from(["live", "live", "live", "asking", "finished"]))
        if kind == "asking":
            jobs.append(make_job(number, reason="JobHeldUser", required=where))
        else:
            jobs.append(
                make_job(number, state=draw(st.sampled_from(LIVE if kind == "live" else FINISHED)), nodes=where)
            )
    return PortalReading(
        now=now,
        slurm=SlurmReading((*nodes, make_node("ph-worker", "FUTURE"), make_node("gpu-box", "DOWN")), tuple(jobs)),
        service=make_service(listed, state=draw(st.sampled_from([2, 2, 2, 2, 8, 10, 4, 1, 3]))),
        own_vm_id=PORTAL_ID,
        worker_vms={vm_id: make_vm(vm_id) for vm_id in listed if draw(st.booleans())},
        departed_vm_ids=frozenset(draw(st.sampled_from([(3, 4, 5, 6), (3, 4, 5, 6), (3,), ()]))),
    )


AGES = st.sampled_from([None, 0, 19, 20, 30, 30, 30, 60, 120, 121, 4000])


@settings(max_examples=600, deadline=None)
@given(readings(), st.fixed_dictionaries({name_of(vm_id): AGES for vm_id in (3, 4, 5, 6)}))
def test_removal_guards(reading, ages):
    memory = PortalMemory(absent_at={name: NOW - age for name, age in ages.items() if age is not None})
    decision = decide_portal(POLICY, reading, memory)
    nodes = {node.name: node for node in reading.slurm.nodes}
    listed = set(reading.service.role("worker").vm_ids)
    for removal in decision.removals:
        event(removal.kind)
        node = nodes[removal.node_name]
        number = int(removal.node_name[len(PREFIX) :])
        assert number not in listed
        assert 20 <= ages[removal.node_name] <= 120
        assert reading.service.state not in (1, 3, 4)
        live = [job for job in reading.slurm.jobs if job.state in LIVE and node.name in job.nodes]
        silent = node.base_state == "DOWN" or "NOT_RESPONDING" in node.flags
        if removal.kind == DELETE:
            asking = [job for job in reading.slurm.jobs if node.name in job.required_nodes]
            taken = [vm for id, vm in reading.worker_vms.items() if node.address in vm.addresses and id != number]
            assert not live and not asking
            assert silent or taken
        else:
            assert live and silent
            assert number in reading.departed_vm_ids
            assert removal.reason
            if node.reason and node.reason_user != "slurm":
                assert removal.reason == node.reason


@settings(max_examples=300, deadline=None)
@given(readings(), st.fixed_dictionaries({name_of(vm_id): AGES for vm_id in (3, 4, 5, 6)}))
def test_every_absent_node_is_removed_or_explained(reading, ages):
    memory = PortalMemory(absent_at={name: NOW - age for name, age in ages.items() if age is not None})
    decision = decide_portal(POLICY, reading, memory)
    if reading.service.state in (1, 3, 4):
        assert decision.removals == decision.skipped == ()
        return
    listed = {name_of(vm_id) for vm_id in reading.service.role("worker").vm_ids}
    absent = {node.name for node in reading.slurm.nodes if node.name.startswith(PREFIX)} - listed
    told = [item.node_name for item in (*decision.removals, *decision.skipped)]
    assert sorted(told) == sorted(absent) == sorted(decision.memory.absent_at)
    assert portal_memory_from_json(decision.memory.to_json()) == decision.memory
    asked = {name_of(vm_id) for vm_id in vm_ids_to_ask_for(POLICY, reading, memory)}
    assert asked <= absent


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_nothing_is_removed_unless_two_readings_20_to_120_seconds_apart_missed_the_vm(data):
    """Ticks at any distance; the history of complete readings is kept beside the code's own memory."""
    memory, now = PortalMemory(), NOW
    missed: dict[str, list[int]] = {}
    for _tick in range(data.draw(st.integers(2, 12))):
        now += data.draw(st.sampled_from([5, 19, 20, 30, 30, 30, 119, 121]))
        reading = replace(data.draw(readings()), now=now)
        decision = decide_portal(POLICY, reading, memory)
        listed = {name_of(vm_id) for vm_id in reading.service.role("worker").vm_ids}
        settled = reading.service.state not in (1, 3, 4)
        for removal in decision.removals:
            event("removed")
            assert any(20 <= now - at <= 120 for at in missed.get(removal.node_name, []))
        for vm_id in (3, 4, 5, 6):
            name = name_of(vm_id)
            if name in listed or not settled or reading.slurm.node(name) is None:
                missed.pop(name, None)
            else:
                missed.setdefault(name, []).append(now)
        memory = portal_memory_from_json(decision.memory.to_json())
