# SPDX-License-Identifier: GPL-3.0-or-later
"""The two stories of onegate-exchanges.json: what happened before which of its exchanges."""

from __future__ import annotations

from tests.contract.replaying import Stage
from tests.contract.world import Recorded, World
from tests.opennebula.states import ServiceState, VmState

#: Two workers without a gate; one is powered off, terminated, and the other then powered off and resumed.
TWO_WORKERS = Recorded(
    service_id=1,
    service_name="workers",
    roles=({"name": "w", "cardinality": 2},),
    vms={1: ("w", 0), 2: ("w", 1)},
    ready_gate=False,
)

POLICIES = [
    {"type": "CHANGE", "adjust": 1, "expression": "SLURM_PENDING > 0", "period_number": 1, "period": 5},
    {"type": "CHANGE", "adjust": -1, "expression": "OLDEST_IDLE > 0.99", "period_number": 1, "period": 5},
]

#: Storage, portal and one to three workers; VM 4 and later are workers that came in its course.
CLUSTER = Recorded(
    service_id=3,
    service_name="slurm-a",
    roles=(
        {"name": "storage", "cardinality": 1},
        {"name": "portal", "cardinality": 1, "parents": ["storage"]},
        {
            "name": "worker",
            "cardinality": 1,
            "min_vms": 1,
            "max_vms": 3,
            "cooldown": 8,
            "parents": ["storage", "portal"],
            "elasticity_policies": POLICIES,
        },
    ),
    vms={1: ("storage", 0), 2: ("portal", 0), **{number: ("worker", number - 3) for number in range(3, 9)}},
)

#: The service of the bare bodies: as the other, with another number and two workers.
RUNNING = Recorded(
    service_id=1,
    service_name="slurm-a",
    roles=(*CLUSTER.roles[:2], {**CLUSTER.roles[2], "cardinality": 2}),
    vms={1: ("storage", 0), 2: ("portal", 0), 3: ("worker", 0), 4: ("worker", 1)},
)


def one_by_one(*keys: str) -> tuple[tuple[str, ...], ...]:
    """Exchanges that do not depend on each other."""
    return tuple((key,) for key in keys)


def _grow(world: World, number: int) -> None:
    """To one worker more, whose VM is the one recorded as ``number``."""
    world.until_state(ServiceState.RUNNING)
    role = world.service.role(world.names("worker"))
    assert role is not None
    world.cloud.oneflow.scale(world.service.id, role["name"], role["cardinality"] + 1)
    world.until_vm_runs(number)
    world.publish(number, "READY=YES")
    world.until_state(ServiceState.RUNNING)


def _is_done(world: World, number: int) -> bool:
    return world.vm(number).state == VmState.DONE


def _storage_runs(world: World) -> None:
    world.until_vm_runs(1)


def _portal_runs(world: World) -> None:
    world.until_vm_runs(2)


def _worker_runs(world: World) -> None:
    world.until_vm_runs(3)


def _service_runs(world: World) -> None:
    world.until_state(ServiceState.RUNNING)


def _second_worker_starts(world: World) -> None:
    world.publish(3, "SLURM_PENDING=1")
    world.until_vm_runs(4)


def _second_worker_is_ready(world: World) -> None:
    world.until_state(ServiceState.COOLDOWN)


def _three_workers(world: World) -> None:
    world.publish(3, "SLURM_PENDING=0")
    _grow(world, 5)
    world.publish(3, "OLDEST_IDLE=0")


def _first_worker_goes(world: World) -> None:
    world.until(lambda: _is_done(world, 3))
    world.until_state(ServiceState.COOLDOWN)


def _cooled_down(world: World) -> None:
    world.until_state(ServiceState.RUNNING)


def _middle_one_of_three(world: World) -> None:
    _grow(world, 6)
    world.cloud.vms.terminate(world.vm(4))
    world.until(lambda: _is_done(world, 4))
    _grow(world, 7)


def _last_worker_replaced(world: World) -> None:
    world.until(lambda: _is_done(world, 5) and _is_done(world, 7))
    world.until_vm_runs(8)


def _nothing_more(world: World) -> None:
    pass


TWO_WORKERS_STORY = (
    Stage(_service_runs, (("poweroff sibling", "vm in POWEROFF", "put in POWEROFF", "terminate sibling"),)),
    Stage(
        _nothing_more,
        (("service by a VM that left",), ("vm by a VM that left",), ("poweroff last", "resume last")),
    ),
)

CLUSTER_STORY = (
    Stage(_storage_runs, one_by_one("vm_of_role", "service_while_deploying")),
    Stage(_storage_runs, (("ready_lower", "ready_quoted_space"),)),
    Stage(_portal_runs, one_by_one("portal_ready")),
    Stage(_worker_runs, one_by_one("worker_ready")),
    Stage(
        _service_runs,
        (
            *one_by_one("service_running", "other_vm_in_service", "other_vm_not_in_service", "other_vm_nonexistent"),
            *one_by_one("other_vm_badid", "put_other_vm_not_in_service", "wrong_token_other_vm"),
            *one_by_one("role_put_down_below_min", "role_put_unknown", "action_unknown", "action_bad"),
            ("put_other_vm", "other_vm_after"),
        ),
    ),
    Stage(_second_worker_starts, one_by_one("service_scaling", "manual_scale_while_scaling")),
    Stage(_second_worker_starts, one_by_one("new_worker_ready")),
    Stage(_second_worker_is_ready, one_by_one("service_cooldown", "manual_scale_while_cooldown")),
    Stage(_three_workers, one_by_one("zero_pending", "zero_pending 2", "zero_pending 3", "erase_on_other")),
    Stage(_cooled_down, one_by_one("idle_only_newest")),
    Stage(_first_worker_goes, one_by_one("service_after_scale_down", "removed_vm_by_id", "removed_vm_self")),
    Stage(_first_worker_goes, one_by_one("clear_idle")),
    Stage(_middle_one_of_three, one_by_one("terminate_middle_vm")),
    Stage(_cooled_down, (("poweroff", "pend", "resume", "pend0"),)),
    Stage(_cooled_down, one_by_one("terminate_all", "terminate_all 2")),
    Stage(_last_worker_replaced, one_by_one("ready")),
    Stage(_cooled_down, one_by_one("reboot_allowed", "terminate_self_portal_not_in_role_list", "policy_min")),
)
