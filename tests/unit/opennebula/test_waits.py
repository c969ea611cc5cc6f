# SPDX-License-Identifier: GPL-3.0-or-later
"""OneFlow's waits by themselves: hearing, looking, ending."""

from __future__ import annotations

import pytest

from tests.opennebula.clock import VirtualClock
from tests.opennebula.server_log import ServerLog
from tests.opennebula.states import LcmState, VmState
from tests.opennebula.vms import VirtualMachine
from tests.opennebula.waits import Wait, Waits

RUNNING = (VmState.ACTIVE, LcmState.RUNNING)
BOOT = (VmState.ACTIVE, LcmState.BOOT)
BOOT_FAILURE = (VmState.ACTIVE, LcmState.BOOT_FAILURE)
SHUTDOWN = (VmState.ACTIVE, LcmState.SHUTDOWN)
DONE = (VmState.DONE, LcmState.LCM_INIT)
POWEROFF = (VmState.POWEROFF, LcmState.LCM_INIT)
REPORT = None


class World:
    """VMs 1 and 2 in BOOT, and the waits for them; ``ended`` holds how each ended."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.clock.lock.acquire()
        self.vms = {vm_id: VirtualMachine(vm_id, f"vm {vm_id}", {}, {}, 0, None, *BOOT) for vm_id in (1, 2)}
        self.waits = Waits(self.clock, self.vms, 5, ServerLog(self.clock))
        self.ended: list[tuple[str, list[int], list[int]]] = []

    def set_state(self, vm_id: int, state: tuple[VmState, LcmState], heard: bool = True) -> None:
        self.vms[vm_id].state, self.vms[vm_id].lcm_state = state
        if heard:
            self.waits.hear_state(self.vms[vm_id])
            self.clock.settle()

    def update(self, vm_id: int, text: str) -> None:
        self.waits.hear_update(self.vms[vm_id], text)
        self.clock.settle()

    def wait_for(self, target: tuple[VmState, LcmState] | None, *vm_ids: int, service_id: int = 1) -> Wait:
        def ends(how: str, wait: Wait) -> None:
            self.ended.append((how, wait.reached, wait.failed))

        wait = Wait(service_id, "worker", list(vm_ids), target, lambda w: ends("well", w), lambda w: ends("badly", w))
        self.waits.start(wait)
        self.clock.settle()
        return wait


@pytest.fixture
def world() -> World:
    return World()


def test_a_wait_for_nothing_ends_at_once(world: World) -> None:
    world.wait_for(RUNNING)
    assert world.ended == [("well", [], [])]


@pytest.mark.parametrize(
    ("target", "state", "settled"),
    [
        (RUNNING, RUNNING, True),
        (RUNNING, DONE, True),
        (RUNNING, POWEROFF, True),
        (RUNNING, SHUTDOWN, False),
        (DONE, DONE, True),
        (DONE, POWEROFF, True),
        (DONE, RUNNING, False),
        (REPORT, DONE, True),
        (REPORT, POWEROFF, True),
        (REPORT, RUNNING, False),
    ],
)
@pytest.mark.parametrize("how", ["first look", "event", "later look"])
def test_states_that_end_a_wait(
    world: World,
    target: tuple[VmState, LcmState] | None,
    state: tuple[VmState, LcmState],
    settled: bool,
    how: str,
) -> None:
    if how == "first look":
        world.set_state(1, state, heard=False)
    world.wait_for(target, 1)
    if how != "first look":
        world.set_state(1, state, heard=how == "event")
    if how == "later look":
        world.clock.advance(5)
    assert world.ended == ([("well", [1], [])] if settled else [])


def test_ready_is_seen_at_the_first_look(world: World) -> None:
    world.vms[1].user_template["READY"] = ["YES"]
    world.wait_for(REPORT, 1)
    assert world.ended == [("well", [1], [])]


def test_all_vms_must_be_there(world: World) -> None:
    world.wait_for(RUNNING, 1, 2)
    world.set_state(2, RUNNING)
    assert world.ended == []
    world.set_state(1, RUNNING)
    assert world.ended == [("well", [2, 1], [])]


def test_reports_of_others_and_states_of_others_do_not_count(world: World) -> None:
    world.wait_for(REPORT, 1)
    world.wait_for(RUNNING, 2)
    world.update(2, "READY=YES")
    world.set_state(1, RUNNING)
    assert world.ended == []
    world.update(1, "READY=NO")
    assert world.ended == []
    world.update(1, "READY=YES")
    world.set_state(2, RUNNING)
    assert world.ended == [("well", [1], []), ("well", [2], [])]


def test_a_wait_for_a_state_is_not_postponed_by_updates(world: World) -> None:
    world.wait_for(RUNNING, 1)
    world.set_state(1, RUNNING, heard=False)
    world.clock.advance(4)
    world.update(2, "A=1")
    world.clock.advance(1)
    assert world.ended == [("well", [1], [])]


def test_a_failed_vm_is_heard_of_by_nobody(world: World) -> None:
    world.wait_for(RUNNING, 1)
    world.set_state(1, BOOT_FAILURE)
    world.clock.advance(4.9)
    assert world.ended == []
    world.clock.advance(0.1)
    assert world.ended == [("badly", [], [1])]


def test_one_failed_vm_ends_the_wait_for_all(world: World) -> None:
    world.wait_for(RUNNING, 1, 2)
    world.set_state(1, BOOT_FAILURE)
    world.clock.advance(5)
    assert world.ended == [("badly", [], [1])]


def test_a_vm_that_has_failed_before_the_first_look_ends_it_well(world: World) -> None:
    """A gap of the original: the loop that would notice is never entered."""
    world.set_state(1, BOOT_FAILURE)
    world.wait_for(RUNNING, 1)
    assert world.ended == [("well", [], [1])]


def test_looking_goes_on(world: World) -> None:
    world.wait_for(RUNNING, 1)
    world.clock.advance(12)
    world.set_state(1, RUNNING, heard=False)
    world.clock.advance(2)
    assert world.ended == []
    world.clock.advance(1)
    assert world.ended == [("well", [1], [])]


def test_hearing_postpones_looking(world: World) -> None:
    world.wait_for(REPORT, 1, 2)
    world.vms[1].user_template["READY"] = ["YES"]
    world.clock.advance(4)
    world.set_state(2, POWEROFF)
    world.clock.advance(4)
    assert world.ended == []
    world.clock.advance(1)
    assert world.ended == [("well", [2, 1], [])]


def test_a_wait_ends_once(world: World) -> None:
    world.wait_for(REPORT, 1)
    world.update(1, "READY=YES")
    world.update(1, "READY=YES")
    world.set_state(1, DONE)
    world.clock.advance(60)
    assert len(world.ended) == 1


def test_a_cancelled_wait_never_ends_and_others_go_on(world: World) -> None:
    world.wait_for(RUNNING, 1, service_id=1)
    world.wait_for(RUNNING, 1, 2, service_id=2)
    world.waits.cancel(1)
    world.clock.advance(60)
    world.set_state(1, RUNNING)
    world.set_state(2, RUNNING)
    world.clock.advance(60)
    assert world.ended == [("well", [1, 2], [])]


def test_a_cancelled_wait_does_not_look(world: World) -> None:
    world.wait_for(RUNNING, 1)
    world.waits.cancel(1)
    world.set_state(1, RUNNING, heard=False)
    world.clock.advance(60)
    assert world.ended == []


def test_the_end_comes_after_what_is_being_done(world: World) -> None:
    wait = Wait(1, "worker", [], RUNNING, lambda w: world.ended.append(("well", [], [])), lambda w: None)
    world.waits.start(wait)
    assert world.ended == []
    world.clock.settle()
    assert len(world.ended) == 1
