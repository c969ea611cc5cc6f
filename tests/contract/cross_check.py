# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of cross-check.json: what was observed of the real servers beside single exchanges."""

from __future__ import annotations

import string
from typing import Any

from tests.contract.recorded import load
from tests.contract.replaying import Replay
from tests.contract.stories import CLUSTER
from tests.contract.world import Recorded, World
from tests.opennebula import oneflow_rest
from tests.opennebula.messages import Request
from tests.opennebula.states import ServiceState

#: Two VMs, the second behind the first.
PAIR = Recorded(
    service_id=9,
    service_name="pair",
    roles=({"name": "storage", "cardinality": 1}, {"name": "portal", "cardinality": 1, "parents": ["storage"]}),
    vms={1: ("storage", 0), 2: ("portal", 0)},
)

WORKER_SET = [
    "SLURM_PENDING=0",
    "OLDEST_IDLE=0",
    "HEALTHY=1",
    "IDLE_SECONDS=12",
    "ACTIVE_SESSIONS=2",
    "SLURM_IDLE_NODES=1",
    "SLURM_ALLOC_NODES=0",
    "SLURM_NODENAME=worker-192-0-2-13",
    "SESSION_USERS=demo1:2026-11-30T12:00:00;demo2:2026-11-30T12:05:00",
]


def recorded_checks() -> dict[str, Any]:
    """What was observed, by check."""
    return {check["check"]: check["observed"] for check in load("cross-check.json")}


def replay(seed: int) -> Replay:
    """cross-check.json."""
    observed: dict[str, Any] = {}
    _ready_gate(World(seed, PAIR), observed)
    _stored_values(World(seed, CLUSTER), observed)
    _oneflow(World(seed, CLUSTER), observed)
    result = Replay()
    for check, value in recorded_checks().items():
        if check in observed:
            same = observed[check] == value
            result.note(check, [] if same else [f"{observed[check]!r} instead of {value!r}"])
    return result


def _ready_gate(world: World, observed: dict[str, Any]) -> None:
    world.until_vm_runs(1)
    world.publish(1, "READY=YES")
    world.until_vm_runs(2)
    portal = world.service.role(world.names("portal"))
    assert portal is not None
    headers = {**world.headers(2), "Content-Type": "text/plain"}
    world.ask("PUT", "/vm", headers, "SLURMD_READY=NO")
    world.clock.advance(20)
    observed["SLURMD_READY=NO -> portal role state"] = portal["state"]
    world.ask("PUT", "/vm", headers, "SLURMD_READY=YES")
    world.clock.advance(1)
    observed["SLURMD_READY=YES (no READY at all) -> portal role state (2=RUNNING)"] = portal["state"]
    observed["service state"] = int(world.service.state)
    _extended(world, observed)


def _extended(world: World, observed: dict[str, Any]) -> None:
    """Sizes depend on names and drivers, so that only their relation can be the recorded one."""
    recorded = recorded_checks()
    targets = {
        "extended=false": "/service?extended=false",
        "extended absent": "/service",
        "extended empty": "/service?extended=",
    }
    bodies = {check: world.ask("GET", target, world.headers(2)).body for check, target in targets.items()}
    in_full = world.ask("GET", "/service?extended=true", world.headers(2)).body
    for check, body in bodies.items():
        is_full = recorded[check] == max(recorded[name] for name in targets)
        observed[check] = recorded[check] if (body == in_full) == is_full else len(body.encode())


def _stored_values(world: World, observed: dict[str, Any]) -> None:
    world.run_all()
    worker = {**world.headers(3), "Content-Type": "text/plain"}
    kept = {"ROLE_NAME": world.names("worker"), "SERVICE_ID": str(world.service.id)}
    world.ask("PUT", "/vm", worker, "\n".join(world.chance.sample(WORKER_SET, len(WORKER_SET))))
    stored = dict(world.vm(3).document()["USER_TEMPLATE"])
    observed["stored"] = {
        name: {"ROLE_NAME": "worker", "SERVICE_ID": "1"}[name] if kept.get(name) == value else value
        for name, value in stored.items()
    }
    key = "".join(world.chance.choices(string.ascii_letters + string.digits + "+/", k=1366))
    for value, check in ((key + "==", "key padded (1368 chars)"), (key, "key unpadded (1366 chars)")):
        observed[f"{check} equal after GET"] = _kept(world, "KEY", value) == value
    for name in ("ERROR", "OOD_URL"):
        observed[name] = _kept(world, name, recorded_checks()[name])
    observed["SP"] = repr(_kept(world, "SP", " two words "))


def _kept(world: World, name: str, value: str) -> Any:
    world.ask("PUT", "/vm", {**world.headers(3), "Content-Type": "text/plain"}, f"{name}={value}")
    return world.vm(3).attribute(name)


def _oneflow(world: World, observed: dict[str, Any]) -> None:
    world.run_all()
    path = f"/service/{world.service.id}"
    wanted = f'{{"role_name":"{world.names("worker")}","cardinality":2,"force":false}}'
    observed["scale"] = _flow(world, "POST", f"{path}/scale", wanted)[0]
    observed["DELETE while SCALING"] = _flow(world, "DELETE", path)
    world.until_vm_runs(4)
    world.publish(4, "READY=YES")
    world.until_state(ServiceState.COOLDOWN)
    observed["DELETE while state 10"] = _flow(world, "DELETE", path)


def _flow(world: World, method: str, path: str, body: str = "") -> list[Any]:
    headers = {"authorization": "Basic Y2x1c3RlcjpwYXNz"}
    response = oneflow_rest.respond(world.cloud, "pass", Request(method, path, {}, headers, body.encode()))
    return [response.status, response.body]
