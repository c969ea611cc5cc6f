# SPDX-License-Identifier: GPL-3.0-or-later
"""When a scenario gets new hosts, and which of them configure themselves before it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.scenarios import hosts

ROLES = {"storage": [], "portal": ["storage"], "worker": ["storage", "portal"]}


class FakeService:
    """A service that remembers which hosts have configured themselves."""

    ready: list[str] = []

    def __init__(self, run_dir):
        self.client = SimpleNamespace(vm=lambda role: {"USER_TEMPLATE": {"READY": "YES"} if role in self.ready else {}})
        self.progress = SimpleNamespace(tell=lambda text: None)

    def role(self, name):
        return {"name": name, "parents": ROLES[name]}

    def single(self, role):
        return role

    def run(self, role, command, timeout_seconds):
        self.ready.append(role)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """What up and down were called for, with hosts that are only folders."""
    calls = []

    def up():
        if not hosts.run_directory():
            calls.append("up")
            FakeService.ready = []
            hosts._write({"run_directory": str(tmp_path), "used": []})

    def boot(create, scenario):
        calls.append(scenario)
        hosts._write({"run_directory": str(tmp_path), "used": [], "scenario": scenario})

    def down():
        calls.append("down")
        hosts.POINTER.unlink(missing_ok=True)

    monkeypatch.setattr(hosts, "POINTER", tmp_path / "hosts.json")
    monkeypatch.setattr(hosts, "Service", FakeService)
    monkeypatch.setattr(hosts, "up", up)
    monkeypatch.setattr(hosts, "_boot", boot)
    monkeypatch.setattr(hosts, "down", down)
    return calls


def test_scenarios_in_order_share_their_hosts(calls):
    for role in ROLES:
        hosts.prepare(role)
        FakeService.ready.append(role)  # the scenario converges
    assert calls == ["up"]
    assert FakeService.ready == ["storage", "portal", "worker"]


def test_a_scenario_alone_has_what_it_relies_on_configure_itself_in_order(calls):
    hosts.prepare("worker")
    assert (calls, FakeService.ready) == (["up"], ["storage", "portal"])


@pytest.mark.parametrize("first", ["storage", "portal", "worker"])
def test_a_host_that_was_used_before_is_replaced(calls, first):
    hosts.prepare(first)
    hosts.prepare("storage")
    assert calls == ["up", "down", "up"]
    assert FakeService.ready == []


@pytest.mark.parametrize("role", [*ROLES, hosts.BOOT])
def test_a_service_that_is_for_one_scenario_is_not_given_to_another(calls, role, monkeypatch):
    monkeypatch.setattr(FakeService, "document", lambda self: {"roles": []}, raising=False)
    hosts.prepare(hosts.POOL)
    hosts.prepare(role)
    assert calls == ["down", hosts.POOL, "down", "up"]
