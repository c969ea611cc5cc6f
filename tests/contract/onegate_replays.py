# SPDX-License-Identifier: GPL-3.0-or-later
"""Replays of the recordings of OneGate. Each takes a seed and says what it asked and what differed."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.contract import cross_check, onegate_updates, stories
from tests.contract.comparing import Expected, answer_differences
from tests.contract.recorded import Exchange, exchanges, load
from tests.contract.replaying import Replay, tell
from tests.contract.world import CONTEXT, SOLO, WITHOUT_TOKEN, World
from tests.opennebula.client import Client
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.settings import Settings
from tests.opennebula.simulator import Simulator
from tests.opennebula.states import ServiceState

#: The key in a file that is one answer.
WHOLE = "whole"


def story(seed: int) -> Replay:
    """onegate-exchanges.json."""
    recorded = exchanges(load("onegate-exchanges.json"))
    replay = Replay()
    tell(World(seed, stories.TWO_WORKERS), stories.TWO_WORKERS_STORY, recorded, replay)
    tell(World(seed, stories.CLUSTER), stories.CLUSTER_STORY, recorded, replay)
    return replay


# --- files that are one answer ---


def bare(
    file: str, target: str, number: int, prepare: Callable[[World], None] | None = None
) -> Callable[[int], Replay]:
    """The replay of one answer.

    :param number: of the VM that asks.
    :param prepare: what happens in the running service before.
    """

    def run(seed: int) -> Replay:
        world = World(seed, stories.RUNNING)
        world.run_all()
        if prepare:
            prepare(world)
        headers = {"X-ONEGATE-VMID": str(number), "X-ONEGATE-TOKEN": ""}
        replay = Replay()
        replay.repeat(world, Exchange(WHOLE, "GET", target, None, 200, load(file), headers))
        return replay

    return run


def _one_worker_goes(world: World) -> None:
    world.hypervisor.obeys = False
    for number in (3, 4):
        world.publish(number, "SLURM_PENDING=0", "OLDEST_IDLE=1")
    world.until_state(ServiceState.SCALING)


# --- errors ---


def authentication(seed: int) -> Replay:
    """onegate-auth.json."""
    world = World(seed, stories.RUNNING)
    world.run_all()
    right = world.headers(2)
    others = [world.token(number) for number in (SOLO, 1, 3, 4)]
    sent = {
        "bad token: garbage": {**right, "X-ONEGATE-TOKEN": "garbage"},
        "bad token: token of another VM": {**right, "X-ONEGATE-TOKEN": world.chance.choice(others)},
        "auth: no headers": {},
        "auth: no VMID header": {"X-ONEGATE-TOKEN": world.token(2)},
        "auth: no TOKEN header": {"X-ONEGATE-VMID": str(world.vm_id(2))},
        "auth: VMID of a VM that does not exist": {**right, "X-ONEGATE-VMID": str(world.vm_id(999))},
        "auth: VMID not a number": {**right, "X-ONEGATE-VMID": "abc"},
        "vm_without_token": world.headers(WITHOUT_TOKEN, world.chance.choice(["", *others])),
    }
    replay = Replay()
    recorded = exchanges(load("onegate-auth.json"))
    for key in world.chance.sample(list(recorded), len(recorded)):
        answer = world.ask(recorded[key].method, recorded[key].target, sent[key])
        replay.note(key, answer_differences(as_recorded(recorded[key]), answer))
    return replay


def as_recorded(exchange: Exchange) -> Expected:
    """The recorded answer, which names no VM."""
    return Expected(exchange.status, exchange.content_type, exchange.response)


def older_errors(seed: int) -> Replay:
    """onegate-6.10.5-errors.json."""
    world = World(seed, stories.RUNNING)
    world.run_all()
    world.cloud.onegate.change({"shows_causes": True})
    replay = Replay()
    recorded = exchanges([{"path": "/vm", **case} for case in recorded_older_cases()])
    setting_a, erasing_a = "PUT /vm A=YWJjZA==", "PUT /vm?type=2 A"
    order = world.chance.sample(list(recorded), len(recorded))
    # it can be erased only when it is there
    order.remove(setting_a)
    order.insert(world.chance.randint(0, order.index(erasing_a)), setting_a)
    for key in order:
        exchange = recorded[key]
        number = world.chance.choice((1, 2, 3, 4))
        if key in (setting_a, erasing_a):
            number = 1
        headers = {**world.headers(number, "garbage" if key == "bad token" else None), "Content-Type": "text/plain"}
        answer = world.ask(exchange.method, exchange.target, headers, exchange.body)
        replay.note(key, answer_differences(as_recorded(exchange), answer))
    return replay


def recorded_older_cases() -> list[dict[str, Any]]:
    return load("onegate-6.10.5-errors.json")["cases"]


# --- over HTTP ---


def over_http(seed: int) -> Replay:
    """onegate-puma.json: all headers, through the real server; the first body was cut off when it was recorded."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(scheduler_seconds=0.01)
        simulator = Simulator(Path(directory), NullHypervisor(), "127.0.0.1", settings, 0, 0, 0)
        thread = threading.Thread(target=simulator.run)
        thread.start()
        try:
            client = Client(Path(directory), timeout_seconds=30)
            client.wait_ready(30)
            return _ask_over_http(client, simulator, seed)
        finally:
            simulator.request_stop()
            thread.join(30)


def _ask_over_http(client: Client, simulator: Simulator, seed: int) -> Replay:
    template_id = client.create_vm_template({"CONTEXT": CONTEXT})
    for _ in range(seed % 4):
        client.create_vm(template_id, "other")
    vm_id = client.create_vm(template_id, "solo")
    with simulator.clock.changed:
        vm = simulator.cloud.vms.get(vm_id)
        assert simulator.clock.wait_until(lambda: vm.lcm_state == 3, 30)
        lost = load("onegate-erase-cases.json")["race"]["lost"]
        simulator.cloud.vms.update(vm, "\n".join(f"K{number}=1" for number in range(40) if number not in lost))
    replay = Replay()
    for key, exchange in exchanges(load("onegate-puma.json")).items():
        token = "garbage" if exchange.status == 401 else client.token(vm_id) or ""
        connection = HTTPConnection("127.0.0.1", client.access()["onegate_port"], timeout=30)
        headers = {"X-ONEGATE-TOKEN": token, "X-ONEGATE-VMID": str(vm_id), "Content-Type": "text/plain"}
        connection.request(exchange.method, exchange.target, exchange.body, {**headers, "Connection": "close"})
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        replay.note(key, _http_differences(exchange, response.status, dict(response.getheaders()), body, vm_id))
    return replay


def _http_differences(exchange: Exchange, status: int, headers: dict[str, str], body: str, vm_id: int) -> Iterable[str]:
    recorded = exchange.details["headers"]
    expected_body = exchange.response.replace('"ID":"0"', f'"ID":"{vm_id}"')
    is_cut_off = len(exchange.response) != int(recorded["Content-Length"])
    expected = {**recorded, "Content-Length": str(len(body.encode()) if is_cut_off else len(expected_body.encode()))}
    if status != exchange.status:
        yield f"status {status} instead of {exchange.status}"
    if headers != expected:
        yield f"headers {headers} instead of {expected}"
    if (body[: len(expected_body)] if is_cut_off else body) != expected_body:
        yield f"body {body!r} instead of {expected_body!r}"


#: Replay by file.
REPLAYS: dict[str, Callable[[int], Replay]] = {
    "cross-check.json": cross_check.replay,
    "onegate-6.10.5-errors.json": older_errors,
    "onegate-auth.json": authentication,
    "onegate-erase-cases.json": onegate_updates.erasing,
    "onegate-exchanges.json": story,
    "onegate-puma.json": over_http,
    "onegate-put-cases.json": onegate_updates.setting,
    "onegate-service-extended.json": bare("onegate-service-extended.json", "/service?extended", 2),
    "onegate-service-while-terminating.json": bare(
        "onegate-service-while-terminating.json", "/service", 2, _one_worker_goes
    ),
    "onegate-service.json": bare("onegate-service.json", "/service", 2),
    "onegate-vm-while-terminating.json": bare("onegate-vm-while-terminating.json", "/vm", 3, _one_worker_goes),
    "onegate-vm.json": bare("onegate-vm.json", "/vm", 2),
}


def files_without_replay(folder: Path) -> list[str]:
    """Recordings that no function above replays; OneFlow's have their own."""
    names = {path.name for path in folder.glob("*.json") if not path.name.startswith("oneflow-")}
    return sorted(names - set(REPLAYS))


def recorded_keys(file: str) -> set[str]:
    """Keys of all exchanges that a file holds."""
    content = load(file)
    if file == "cross-check.json":
        return set(cross_check.recorded_checks())
    if file == "onegate-put-cases.json":
        return set(onegate_updates.set_cases())
    if isinstance(content, dict) and "cases" not in content:
        return {WHOLE}
    cases = content["cases"] if isinstance(content, dict) else content
    keys = set(exchanges([{"path": "/vm", **case} for case in cases]))
    return keys | ({onegate_updates.RACE} if "race" in content else set())
