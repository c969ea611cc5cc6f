# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint that answers is found, remembered for the boot, and looked for anew when it stops answering."""

from __future__ import annotations

import random
import socket
import time

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ContextError, context_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import client_from_host
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_endpoint import (
    GATEWAY_PORT,
    candidates,
    default_gateway,
    find_endpoint,
    remember_endpoint,
    remembered_endpoint,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from tests.unit.plugins.onegate_double import TOKEN, OneGateDouble

DEAD = "http://127.0.0.1:1"


@pytest.fixture
def gateway():
    """A OneGate on port 5030 of a loopback address of its own, as on a gateway; yields the double."""
    while True:
        address = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        try:
            double = OneGateDouble(address, GATEWAY_PORT)
            break
        except OSError:
            continue
    yield double
    double.close()


def context(gateway_address, endpoint=DEAD):
    values = {"TOKENTXT": TOKEN, "VMID": "2", "ONEGATE_ENDPOINT": endpoint}
    return context_of(dict(values, ETH0_IP="127.0.0.2", ETH0_GATEWAY=gateway_address))


@pytest.mark.parametrize(
    ("endpoint", "gateway_address", "expected"),
    [
        ("http://169.254.16.9:5030", "10.0.0.1", ["http://169.254.16.9:5030", "http://10.0.0.1:5030"]),
        ("https://onegate.example/gate/", None, ["https://onegate.example/gate"]),
        ("http://10.0.0.1:5030", "10.0.0.1", ["http://10.0.0.1:5030"]),
        (None, "fd00::1", ["http://[fd00::1]:5030"]),
        ("nonsense", None, []),
        (None, None, []),
    ],
)
def test_candidates(endpoint, gateway_address, expected):
    assert candidates(endpoint, gateway_address) == expected


def test_first_that_answers_is_found(onegate):
    assert find_endpoint([DEAD, onegate.endpoint], TOKEN, 2) == onegate.endpoint
    assert onegate.calls() == ["GET /vm"]


def test_refused_token_is_an_answer_too(onegate):
    assert find_endpoint([onegate.endpoint], "wrong", 2) == onegate.endpoint


def test_something_else_on_the_port_is_no_answer(onegate):
    onegate.fault("status", status=404, body="not here")
    with pytest.raises(OneGateError) as error:
        find_endpoint([DEAD, onegate.endpoint], TOKEN, 2)
    assert f"{DEAD}: the connection was refused; {onegate.endpoint}: HTTP 404 to GET /vm" in str(error.value)
    assert error.value.retryable
    assert TOKEN not in str(error.value)


def test_no_candidate_at_all_is_a_sentence():
    with pytest.raises(OneGateError, match="neither the context nor a gateway names one"):
        find_endpoint([], TOKEN, 2)


def test_silent_candidate_costs_its_time_only(onegate):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        begin = time.monotonic()
        endpoints = [f"http://127.0.0.1:{silent.getsockname()[1]}", onegate.endpoint]
        assert find_endpoint(endpoints, TOKEN, 2, answer_timeout_seconds=0.5) == onegate.endpoint
        assert time.monotonic() - begin < 3


def test_gateway_is_used_when_the_context_endpoint_is_dead(gateway, tmp_path):
    file = tmp_path / "run" / "endpoint"
    address = gateway.endpoint.split("/")[2].split(":")[0]
    client = client_from_host(endpoint_file=str(file), context=context(address))
    assert client.endpoint == gateway.endpoint
    assert client.get_vm().id == 2
    assert file.read_text() == gateway.endpoint + "\n"
    assert gateway.calls() == ["GET /vm", "GET /vm"]


def test_remembered_endpoint_is_used_without_asking(gateway, tmp_path):
    file = str(tmp_path / "endpoint")
    remember_endpoint(gateway.endpoint, file)
    client = client_from_host(endpoint_file=file, context=context(gateway.endpoint.split("/")[2].split(":")[0]))
    assert client.endpoint == gateway.endpoint
    assert gateway.calls() == []


def test_remembered_endpoint_that_the_context_does_not_know_gets_no_token(onegate, tmp_path):
    file = str(tmp_path / "endpoint")
    remember_endpoint("http://127.0.0.1:2", file)
    client = client_from_host(endpoint_file=file, context=context("127.0.0.1", onegate.endpoint))
    assert client.endpoint == onegate.endpoint
    assert remembered_endpoint(file) == onegate.endpoint


def test_remembered_endpoint_that_stops_answering_is_forgotten(tmp_path):
    file = str(tmp_path / "endpoint")
    remember_endpoint(DEAD, file)
    client = client_from_host(endpoint_file=file, context=context("127.0.0.1"))
    with pytest.raises(OneGateError):
        client.get_vm()
    assert remembered_endpoint(file) is None


@pytest.mark.parametrize("content", [b"", b"nonsense\n", b"\xff\n", b"http://h:1 http://i:2\n"])
def test_remembered_nonsense_counts_as_nothing(tmp_path, content):
    path = tmp_path / "endpoint"
    path.write_bytes(content)
    assert remembered_endpoint(str(path)) is None


@pytest.mark.parametrize("missing", ["TOKENTXT", "VMID"])
def test_context_without_token_or_id_is_a_sentence(missing):
    values = {"TOKENTXT": TOKEN, "VMID": "2"}
    del values[missing]
    with pytest.raises(ContextError, match='the VM template needs TOKEN="YES" in its CONTEXT'):
        client_from_host(endpoint=DEAD, context=context_of(values))


def test_default_gateway(tmp_path):
    table = tmp_path / "route"
    table.write_text(
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t0100420A\t0003\t0\t0\t200\t00000000\t0\t0\t0\n"
        "eth1\t00000000\t010A000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
        "eth2\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth1\t000A000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    )
    assert default_gateway(str(table)) == "10.0.10.1"
    table.write_text("Iface\tDestination\n")
    assert default_gateway(str(table)) is None
    assert default_gateway(str(tmp_path / "absent")) is None
