# SPDX-License-Identifier: GPL-3.0-or-later
"""The service's secrets stay secret while every playbook of every host runs as talkative as it can."""

from __future__ import annotations

import base64
import re
import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service.first_boot import changed_tasks
from tests.service.observation import PLACES, observe
from tests.service.secrets import Scanner

ROLES = ("storage", "portal", "worker")
CANARY = secrets.token_bytes(48)


@pytest.fixture(scope="module")
def secret_values(service):
    """What each secret is called, and its values."""
    portal = service.single("portal")
    key = base64.b64decode(service.run(portal, "base64 /etc/munge/munge.key").stdout)
    assert len(key) == 1024
    values = {"munge key": [key, base64.b64encode(key).rstrip(b"=")]}
    for role in ROLES:
        values[f"OneGate token of {role}"] = [service.client.token(service.single(role)).encode()]
    password = database_password(service.run(portal, "cat /etc/slurm/slurmdbd.conf", check=False))
    if password:
        values["database password"] = [password]
    return values


def database_password(read):
    """None only while the portal has no accounting database."""
    if read.returncode != 0:
        assert "No such file" in read.stderr
        return None
    return re.search(r"(?m)^StoragePass=(.+)$", read.stdout)[1].strip('"').encode()


@pytest.fixture(scope="module")
def observations(service, secret_values):
    """Role -> what was seen there. The secrets are read before: each run spoils their files first."""
    with ThreadPoolExecutor() as pool:
        observed = {role: pool.submit(observe, service, role, CANARY) for role in ROLES}
    return {role: observation.result() for role, observation in observed.items()}


@pytest.fixture(scope="module")
def secret_scanner(secret_values):
    """Knows each secret of the service."""
    return Scanner(secret_values)


@pytest.fixture(scope="module")
def canary_scanner():
    """Knows what was leaked on purpose."""
    return Scanner({"canary": [CANARY]})


@pytest.mark.parametrize("role", ROLES)
def test_each_run_ends_well(observations, role):
    outputs = observations[role].places["outputs"]
    failed = {name: outputs[name].decode() for name, code in observations[role].exit_codes.items() if code != 0}
    assert failed == {}


@pytest.mark.parametrize("role", ["portal", "worker"])
def test_the_spoilt_files_were_repaired_at_full_verbosity(observations, role):
    output = observations[role].places["outputs"]["first_boot"].decode()
    assert changed_tasks(output) != []
    assert "task path: " in output


def test_diffs_were_shown(observations):
    # Of the worker's key, which differed: that it does, and no more.
    output = observations["worker"].places["outputs"]["first_boot"].decode().splitlines()
    assert {"-content: as it was", "+content: changed"} <= set(output)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", ROLES)
def test_no_secret_is_seen(observations, secret_scanner, role, place):
    assert findings(secret_scanner, observations[role].places[place]) == {}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", ROLES)
def test_what_is_leaked_on_purpose_is_seen(observations, canary_scanner, role, place):
    assert findings(canary_scanner, observations[role].places[place]) != {}


def findings(scanner, contents):
    """Where something was found, and what."""
    found = {where: scanner.findings(content) for where, content in contents.items()}
    return {where: what for where, what in found.items() if what}
