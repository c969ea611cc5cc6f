# SPDX-License-Identifier: GPL-3.0-or-later
"""Replays of the recorded updates: what was sent, what came back, what was stored."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus, urlencode

from tests.contract.comparing import Expected, answer_differences, value_differences
from tests.contract.recorded import Exchange, exchanges, load
from tests.contract.replaying import Replay
from tests.contract.stories import RUNNING
from tests.contract.world import SOLO, World
from tests.opennebula import user_template
from tests.opennebula.messages import JSON_TYPE

FORM = "application/x-www-form-urlencoded"
RAW = "text/plain"
RACE = "race"


# --- setting attributes ---


def set_cases() -> dict[str, Exchange]:
    """Each recorded body as it was sent: raw, as a form and, for one, raw with the content type of a form."""
    cases = [{"path": "/vm", "method": "PUT", **case} for case in load("onegate-put-cases.json")["cases"]]
    found = {}
    for exchange in exchanges(cases).values():
        ways = [replace(exchange, key=f"{exchange.key} (raw)", headers={"Content-Type": RAW})]
        ways.append(replace(exchange, key=f"{exchange.key} (form)", headers={"Content-Type": FORM}))
        status = exchange.details.get("status_if_raw_body_has_form_content_type")
        if status is not None:
            mislabelled = {
                "key": f"{exchange.key} (mislabelled)",
                "status": status,
                "response": exchange.details["response_if_raw_body_has_form_content_type"],
                "details": {"stored": {}},
            }
            ways.append(replace(ways[1], **mislabelled))
        found.update({way.key: way for way in ways})
    return found


def setting(seed: int) -> Replay:
    """onegate-put-cases.json: in any order, by the VM itself or by a sibling."""
    world = World(seed, RUNNING)
    world.run_all()
    filled = _base64_filler(world)
    replay = Replay()
    cases = set_cases()
    for key in world.chance.sample(list(cases), len(cases)):
        exchange = cases[key]
        number, sender = world.chance.choice((1, 2, 3, 4)), world.chance.choice((1, 2, 3, 4))
        vm = world.vm(number)
        vm.user_template = {name: vm.user_template[name] for name in ("ROLE_NAME", "SERVICE_ID")}
        before = user_template.shown(vm.user_template)
        body = filled(exchange.body or "")
        if key.endswith("(form)"):
            body = world.chance.choice([urlencode({"data": body, "type": "1"}), f"data={quote_plus(body)}"])
        target = "/vm" if number == sender and world.chance.random() < 0.8 else f"/vms/{vm.id}"
        answer = world.ask("PUT", target, {**world.headers(sender), **exchange.headers}, body)
        stored = {
            name: filled(value) if isinstance(value, str) else value
            for name, value in exchange.details["stored"].items()
        }
        differences = answer_differences(Expected(exchange.status, JSON_TYPE, exchange.response), answer)
        expected = dict(sorted({**before, **stored}.items()))
        replay.note(key, [*differences, *value_differences(expected, user_template.shown(vm.user_template), "stored")])
    return replay


def _base64_filler(world: World) -> Callable[[str], str]:
    """Recorded bodies name long base64 values by their length alone; 1368 characters end with padding."""
    characters = "".join(world.chance.choices(string.ascii_letters + string.digits + "+/", k=65536))

    def value(match: re.Match[str]) -> str:
        length = int(match.group(1))
        return characters[: length - 2] + "==" if length == 1368 else characters[:length]

    return lambda text: re.sub(r"<(\d+) base64 characters>", value, text)


# --- erasing ---


def erasing(seed: int) -> Replay:
    """onegate-erase-cases.json: in any order, each from the recorded attributes."""
    world = World(seed, RUNNING)
    world.run_all()
    replay = Replay()
    cases = exchanges(load("onegate-erase-cases.json")["cases"])
    for key in world.chance.sample(list(cases), len(cases)):
        exchange = cases[key]
        vm = world.vm(SOLO)
        vm.user_template = {name: list(values) for name, values in exchange.details["before"].items()}
        is_form = (exchange.body or "").startswith("data=")
        headers = {**world.headers(SOLO), "Content-Type": FORM if is_form else RAW}
        answer = world.ask(exchange.method, exchange.target, headers, exchange.body)
        differences = answer_differences(Expected(exchange.status, JSON_TYPE, exchange.response), answer)
        stored = dict(sorted(vm.user_template.items()))
        replay.note(key, [*differences, *value_differences(exchange.details["after"], stored, "stored")])
    replay.note(RACE, _race(world, load("onegate-erase-cases.json")["race"]))
    return replay


def _race(world: World, recorded: dict[str, Any]) -> list[str]:
    """40 updates while another client sets and erases E: all are accepted, some are lost, others are stored."""
    vm = world.vm(SOLO)
    vm.user_template = {}
    gap_seconds = world.cloud.onegate.erase_gap_seconds
    headers = {**world.headers(SOLO), "Content-Type": RAW}
    set_statuses, erase_statuses = set(), set()

    def put(number: int) -> None:
        set_statuses.add(world.ask("PUT", "/vm", headers, f"K{number}=1").status)

    hit = set(world.chance.sample(range(40), 7))
    for number in range(40):
        world.ask("PUT", "/vm", headers, "E=1")
        # in the gap between the erase's reading and its writing, or after it
        wait_seconds = gap_seconds * (0.5 if number in hit else 2)
        world.clock.call_later(wait_seconds, lambda number=number: put(number))
        erase_statuses.add(world.ask("PUT", "/vm?type=2", headers, "E").status)
        world.clock.advance(gap_seconds * 4)
    lost = {number for number in range(40) if f"K{number}" not in vm.user_template}
    found = list(value_differences(recorded["set_status"], sorted(set_statuses), "status of a set"))
    found += value_differences(recorded["erase_status"], sorted(erase_statuses), "status of an erase")
    if len(lost) != len(recorded["lost"]) or lost != hit:
        found.append(f"lost {sorted(lost)} instead of {sorted(hit)}")
    return found
