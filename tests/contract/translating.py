# SPDX-License-Identifier: GPL-3.0-or-later
"""From a recorded exchange to what is sent and expected in a simulated world: ids, names and addresses change."""

from __future__ import annotations

import re
from typing import Any

from tests.contract.comparing import Expected, Like
from tests.contract.recorded import Exchange
from tests.contract.world import World

#: The recorded network; host 10 + N belongs to VM N.
_ADDRESS = re.compile(r"192\.0\.2\.(\d+)")
_MAC = re.compile(r"02:00:c0:00:02:([0-9a-f]{2})")
_VM_NAME = re.compile(r"(\w+)_(\d+)_\(service_\d+\)")
_HOST = re.compile(r"node\d\.example")
_TIME = Like(r"1[789]\d{8}")

_TIMES = ("STIME", "PSTIME", "PETIME", "RSTIME")
_PER_RUN = {
    "UUID": Like(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "HOSTNAME": Like(_HOST.pattern),
    "HID": Like(r"\d"),
    # the place in the scheduler's plan
    "ACTION_ID": Like(r"\d"),
}


def target(world: World, exchange: Exchange) -> str:
    """The path to ask for."""
    path = re.sub(r"(?<=/vms/)\d+", lambda match: str(world.vm_id(int(match.group()))), exchange.target)
    return re.sub(r"(?<=/service/role/)\w+", lambda match: _role(world, match.group()), path)


def expected(world: World, exchange: Exchange) -> Expected:
    """The answer to expect."""
    body = exchange.response
    if isinstance(body, str):
        named = {int(number) for number in re.findall(r"(?<=/vms/)\d+", exchange.target)}
        if "X-ONEGATE-VMID" in exchange.headers:
            named.add(int(exchange.headers["X-ONEGATE-VMID"]))
        body = sentence(world, body, named)
    else:
        body = value(world, body, "")
    return Expected(exchange.status, exchange.content_type, body)


def sentence(world: World, text: str, named: set[int]) -> str:
    """An error.

    :param named: numbers of VMs that the request names; any other is what the server made of a text.
    """

    def vm(match: re.Match[str]) -> str:
        number = int(match.group())
        return str(world.vm_id(number)) if number in named else match.group()

    text = re.sub(r"(?<=VM )\d+", vm, text)
    text = re.sub(r"(?<=ervice )\d+", str(world.service.id), text)
    return re.sub(r"(?<= role )\w+", lambda match: _role(world, match.group()), text)


def value(world: World, recorded: Any, name: str) -> Any:
    """A JSON value.

    :param name: of the member that holds it.
    """
    if isinstance(recorded, dict):
        return {key: value(world, member, key) for key, member in recorded.items()}
    if isinstance(recorded, list):
        return [value(world, member, name) for member in recorded]
    if name == "deploy_id":
        return world.vm_id(recorded)
    if not isinstance(recorded, str):
        return recorded
    if name in _PER_RUN:
        return _PER_RUN[name]
    if name in _TIMES and recorded != "0":
        return _TIME
    return _text(world, recorded, name)


def _text(world: World, recorded: str, name: str) -> Any:
    if name in ("ID", "OID", "VMID"):
        return str(world.vm_id(int(recorded)))
    if name in ("id", "SERVICE_ID"):
        return str(world.service.id)
    if name == "TEMPLATE_ID":
        return str(world.template_id)
    if name == "NETWORK_ID":
        return str(world.network.id)
    if name == "ONEGATE_ENDPOINT":
        return world.cloud.settings.onegate_endpoint
    if name in ("name", "ROLE_NAME", "NETWORK", "BRIDGE") and recorded != "YES":
        return world.names(recorded)
    if name == "TARGET":
        return re.sub(r"(?<=one-)\d+", lambda match: str(world.vm_id(int(match.group()))), recorded)
    if name == "DEPLOY_ID":
        host, vm_name, driver = recorded.split(":")
        assert _HOST.fullmatch(host)
        return Like(f"{_HOST.pattern}:{re.escape(_vm_name(world, vm_name))}:{driver}")
    return _vm_name(world, _MAC.sub(lambda match: _mac(world, match), _ADDRESS.sub(_Addresses(world), recorded)))


def _vm_name(world: World, text: str) -> str:
    return _VM_NAME.sub(
        lambda match: f"{world.names(match.group(1))}_{match.group(2)}_(service_{world.service.id})", text
    )


def _role(world: World, recorded: str) -> str:
    known = [role["name"] for role in world.recorded.roles]
    return world.names(recorded) if recorded in known else recorded


class _Addresses:
    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, match: re.Match[str]) -> str:
        host = int(match.group(1))
        if host == 0:
            return self._world.network.network_address
        return self._world.network.gateway if host == 1 else self._world.address(host - 10)


def _mac(world: World, match: re.Match[str]) -> str:
    address = world.address(int(match.group(1), 16) - 10)
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))
