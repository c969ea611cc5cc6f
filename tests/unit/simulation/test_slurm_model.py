# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulation's slurmctld says what the recorded ones said in the same situation."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulation.clock import NestingClock
from tests.simulation.slurm_model import NodeIsBusy, SlurmModel
from tests.unit.plugins.slurm_samples import VERSIONS, recorded_reading

BIG = frozenset(["worker", "big"])
ONE = {
    "cpus_per_node": 1,
    "memory_per_node": 100,
    "node_count": 1,
    "exclusive": False,
    "feature": "",
    "wanted_node": "",
}


class Model:
    """The nodes of the recordings (w1 2 CPUs, w2 8, w3 5), and the placeholder with everything."""

    def __init__(self, version: str, nodes: bool = True):
        self.clock = NestingClock()
        self.slurm = SlurmModel(self.clock, Random(1), version)
        self.slurm.create_placeholder("ph", 16, 16000, BIG)
        for name, cpus, memory in (("w1", 2, 4000), ("w2", 8, 8000), ("w3", 5, 8000)) if nodes else ():
            self.slurm.register(name, name, cpus, memory, BIG)

    def submit(self, **request):
        return self.slurm.submit(**{**ONE, "run_seconds": 1e6, **request})

    def pass_time(self, seconds: float = 40) -> Model:
        self.clock.pass_time(seconds)
        return self

    def node(self, name: str):
        return self.slurm.nodes[name].show(self.slurm.version != "22.05")


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


def reasons(version: str, scenario: str) -> dict[bytes, str]:
    return {job.name: job.reason for job in recorded_reading(version, scenario).jobs if job.is_pending}


def test_reasons_in_an_empty_pool(version):
    recorded = reasons(version, "only-placeholder-pending")
    model = Model(version, nodes=False)
    wanted = {
        b"one": {},
        b"eight": {"cpus_per_node": 8},
        b"arr": {"tasks": 5, "throttle": 2},
        b"excl": {"exclusive": True},
        b"two": {"node_count": 2},
        b"toolarge": {"cpus_per_node": 20},
    }
    jobs = {name: model.submit(**request) for name, request in wanted.items() if name in recorded}
    assert len(jobs) >= 4
    held = model.submit()
    model.slurm.hold(held, "User")
    model.pass_time()
    assert {name: job.show().reason for name, job in jobs.items()} == {name: recorded[name] for name in jobs}
    assert held.show().reason == recorded[b"held"]


def test_reasons_while_every_node_is_drained(version):
    recorded = reasons(version, "all-drained")
    model = Model(version)
    for name in ("w1", "w2", "w3"):
        model.slurm.drain(name, "maintenance")
    wanted = {b"pend-any": {}, b"pend-c8": {"cpus_per_node": 8}, b"pend-w2": {"wanted_node": "w2"}}
    jobs = {name: model.submit(**request) for name, request in wanted.items()}
    model.pass_time()
    for name, job in jobs.items():
        shown, told = job.show().reason, recorded[name]
        assert shown.split(":")[0] == told.split(":")[0]


def test_behind_a_job_that_waits_for_busy_nodes_the_reason_is_priority(version):
    model = Model(version)
    for _ in range(3):
        model.submit(exclusive=True)
    model.pass_time()
    head, behind = model.submit(exclusive=True), model.submit(exclusive=True)
    model.pass_time()
    assert (head.show().reason, behind.show().reason) == ("Resources", "Priority")


def test_a_suspended_and_a_completing_job(version):
    """w2 with a suspended job alone, w3 drained with a completing one, as recorded."""
    recorded = {node.name: node for node in recorded_reading(version, "suspended-and-completing").nodes}
    model = Model(version)
    model.slurm.drain("w1", "keep it free")
    first = model.submit(cpus_per_node=2, memory_per_node=1000)
    model.pass_time(3)
    second = model.submit(exclusive=True, run_seconds=20)
    model.pass_time(3)
    assert (first.node_names, second.node_names) == (("w2",), ("w3",))
    model.slurm.suspend(first)
    model.slurm.drain("w3", "test")
    model.slurm.undrain("w1")
    while second.state == "RUNNING":
        model.pass_time(0.1)
    for name in ("w1", "w2", "w3"):
        shown = model.node(name)
        assert (shown.base_state, shown.flags) == (recorded[name].base_state, recorded[name].flags)
        assert shown.allocated_cpus == recorded[name].allocated_cpus == 0
    assert [job.state for job in (first.show(), second.show())] == ["SUSPENDED", "COMPLETING"]


def test_the_waiting_tasks_of_an_array_stay_one_line(version):
    model = Model(version)
    model.submit(tasks=5, throttle=2)
    model.pass_time()
    waiting = [job for job in model.slurm.show_jobs() if job.is_pending]
    running = [job for job in model.slurm.show_jobs() if job.is_live]
    assert [(job.tasks.task_count, job.tasks.throttle, job.reason) for job in waiting] == [(3, 2, "JobArrayTaskLimit")]
    assert [(job.array_job_id, job.tasks) for job in running] == [(waiting[0].job_id, None)] * 2


def test_a_crashed_machine_is_silent_then_down_and_its_job_ends(version):
    model = Model(version)
    job = model.submit(exclusive=True)
    model.pass_time(3)
    name = job.node_names[0]
    model.slurm.lose(name, jobs_die=True)
    model.pass_time(15)
    assert model.node(name).state == "ALLOCATED+DYNAMIC_NORM"
    model.pass_time(37)
    assert model.node(name).state == "ALLOCATED+DYNAMIC_NORM+NOT_RESPONDING"
    model.pass_time(40)
    shown = model.node(name)
    assert (shown.base_state, shown.reason, shown.reason_user) == ("DOWN", "Not responding", "slurm")
    assert job.show().state == "NODE_FAIL"
    model.slurm.find(name)
    assert model.node(name).state == "IDLE+DYNAMIC_NORM"


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING"])
def test_a_busy_node_is_not_deleted(version, state):
    model = Model(version)
    job = model.submit(run_seconds=1e6 if state == "RUNNING" else 5)
    model.pass_time(2)
    while job.state != state:
        model.pass_time(0.1)
    with pytest.raises(NodeIsBusy):
        model.slurm.delete(job.node_names[0])


def test_deleting_the_node_of_a_suspended_job_is_a_crash(version):
    model = Model(version)
    job = model.submit()
    model.pass_time(3)
    model.slurm.suspend(job)
    model.slurm.delete(job.node_names[0])
    assert model.slurm.crashes == 1


def test_a_healthy_node_that_is_set_down_comes_back_by_itself(version):
    model = Model(version)
    model.slurm.set_down("w1", "gone")
    assert model.node("w1").base_state == "DOWN"
    model.pass_time(5)
    assert model.node("w1").state == "IDLE+DYNAMIC_NORM"


def test_what_a_restart_does_to_the_last_busy_time(version):
    model = Model(version)
    before = model.node("w1").last_busy_time
    model.pass_time(100)
    model.slurm.pause()
    model.pass_time(50)
    model.slurm.go_on()
    assert model.node("w1").last_busy_time == (int(model.clock.now()) if version == "22.05" else before)


def test_what_ends_while_the_controller_is_away_is_seen_when_it_is_back(version):
    model = Model(version)
    job = model.submit(run_seconds=20)
    model.pass_time(3)
    model.slurm.pause()
    model.pass_time(60)
    assert job.show().state == "RUNNING"
    model.slurm.go_on()
    model.pass_time(15)
    assert job.show().state == "COMPLETED"
