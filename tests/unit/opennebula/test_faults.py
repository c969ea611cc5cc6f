# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand, as a client of OneGate and OneFlow meets them."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.opennebula.client import Client, ClientError
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.settings import Settings
from tests.opennebula.simulator import Simulator
from tests.unit.opennebula.scenario import CONTEXT


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    run_dir = tmp_path_factory.mktemp("simulator")
    simulator = Simulator(run_dir, NullHypervisor(), "127.0.0.1", Settings(), 0, 0, 0)
    thread = threading.Thread(target=simulator.run)
    thread.start()
    client = Client(run_dir, timeout_seconds=20)
    try:
        client.wait_ready(30)
        client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")
        yield client
    finally:
        simulator.request_stop()
        thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def client(simulator: Client) -> Iterator[Client]:
    yield simulator
    simulator.clear_faults()
    for server in ("onegate", "oneflow"):
        simulator.set_date(server, None)


def ask(
    client: Client, path: str = "/vm", method: str = "GET", server: str = "onegate", body: str | None = None
) -> tuple[int, bytes, str | None]:
    """Status, body and date of one request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", client.access()[f"{server}_port"], timeout=20)
    headers = {"X-ONEGATE-TOKEN": client.token(0) or "", "X-ONEGATE-VMID": "0", "Content-Type": "text/plain"}
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read(), response.getheader("Date")
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("server", "status", "usual"),
    [
        ("onegate", 401, b"Not authorized"),
        ("onegate", 403, b"Action (show) on resource (service) not supported"),
        ("onegate", 404, b"Service 0 not found"),
        ("onegate", 500, b"Internal server error"),
        ("oneflow", 401, b"Invalid credentials"),
        ("oneflow", 404, b"[one.document.info] Error getting document [0]."),
        ("oneflow", 500, b"Internal server error"),
        ("oneflow", 503, b""),
    ],
)
def test_a_status(client: Client, server: str, status: int, usual: bytes) -> None:
    client.set_fault(server, "status", status=status)
    assert ask(client, "/service", server=server)[:2] == (status, usual)


def test_a_counted_fault_ends_by_itself_and_is_counted(client: Client) -> None:
    client.set_fault("onegate", "status", status=500, times=2, body="oops")
    assert [ask(client)[:1] for _ in range(3)] == [(500,), (500,), (200,)]
    (fault,) = client.faults()
    assert (fault["spoiled"], fault["times"], fault["kind"], fault["body"]) == (2, 0, "status", "oops")


def test_only_the_named_requests_of_the_named_server(client: Client) -> None:
    client.set_fault("onegate", "status", status=404, method="PUT", path="/vms?(/[0-9]+)?")
    assert ask(client, "/vm", "PUT", body="A=1")[0] == 404
    assert ask(client, "/vms/0", "PUT", body="A=1")[0] == 404
    assert ask(client, "/vm")[0] == 200
    assert ask(client, "/vms/0/action", "POST")[0] != 404
    assert ask(client, "/service", server="oneflow")[0] == 401


def test_the_first_fault_that_concerns_a_request_counts(client: Client) -> None:
    first = client.set_fault("onegate", "status", status=401, path="/vm")
    client.set_fault("onegate", "status", status=404)
    assert ask(client)[0] == 401
    assert [fault["id"] for fault in client.clear_faults(first)] == [first]
    assert ask(client)[0] == 404


def test_the_clients_own_requests_meet_no_fault(client: Client) -> None:
    client.set_fault("oneflow", "status", status=500)
    with pytest.raises(ClientError) as caught:
        client.service(99)
    assert caught.value.status == 404


def test_slow_has_its_effect_before_its_answer(client: Client) -> None:
    client.set_fault("onegate", "slow", seconds=1.5, times=1)
    began = time.monotonic()
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(ask(client, "/vm", "PUT", body="SLOW=1")[0]))
    asking.start()
    while "SLOW" not in client.vm(0)["USER_TEMPLATE"]:
        assert time.monotonic() - began < 20
    assert answers == []
    assert ask(client)[0] == 200, "others are not held up"
    asking.join()
    assert answers == [200]
    assert time.monotonic() - began >= 1.5


def test_hang_has_no_effect_and_no_answer(client: Client) -> None:
    client.set_fault("onegate", "hang", method="PUT")
    connection = http.client.HTTPConnection("127.0.0.1", client.access()["onegate_port"], timeout=0.3)
    headers = {"X-ONEGATE-TOKEN": client.token(0) or "", "X-ONEGATE-VMID": "0"}
    connection.request("PUT", "/vm", "HUNG=1", {**headers, "Content-Type": "text/plain"})
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.sock.settimeout(20)
    client.clear_faults()
    with pytest.raises(ConnectionResetError):
        connection.sock.recv(1)
    connection.close()
    assert "HUNG" not in client.vm(0)["USER_TEMPLATE"]


def test_reset(client: Client) -> None:
    client.set_fault("onegate", "reset", times=1)
    with pytest.raises(ConnectionResetError):
        ask(client)
    assert ask(client)[0] == 200


def test_refused_until_cleared_and_on_the_same_port_again(client: Client) -> None:
    for _ in range(2):
        client.set_fault("onegate", "refuse")
        with pytest.raises(ConnectionRefusedError):
            ask(client)
        assert ask(client, server="oneflow")[0] == 401
        client.clear_faults()
        assert ask(client)[0] == 200


def test_a_connection_from_before_is_of_no_use_to_one_that_is_refused(client: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", client.access()["onegate_port"], timeout=20)
    connection.request("GET", "/vm")
    connection.getresponse().read()
    client.set_fault("onegate", "refuse")
    connection.sock.sendall(b"GET /vm HTTP/1.1\r\n\r\n")
    with pytest.raises(ConnectionResetError):
        connection.sock.recv(1)
    connection.close()


def test_truncated(client: Client) -> None:
    client.set_fault("onegate", "truncate")
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(client)
    assert caught.value.partial.startswith(b'{"VM":')
    assert caught.value.expected > 0


@pytest.mark.parametrize("body", [None, "[]"])
def test_garbage(client: Client, body: str | None) -> None:
    client.set_fault("onegate", "garbage", body=body)
    status, answer, _ = ask(client)
    assert status == 200
    if body is None:
        with pytest.raises(UnicodeDecodeError):
            answer.decode()
    else:
        assert answer == b"[]"


@pytest.mark.parametrize("server", ["onegate", "oneflow"])
def test_dates(client: Client, server: str) -> None:
    assert ask(client, server=server)[2] is None
    for offset in (0, -7200, 86400.5):
        client.set_date(server, offset)
        shown = ask(client, server=server)[2]
        assert shown is not None
        assert abs(parsedate_to_datetime(shown).timestamp() - time.time() - offset) < 20
    client.set_fault(server, "status", status=401)
    assert ask(client, server=server)[2] is not None
    client.set_date(server, None)
    assert ask(client, server=server)[2] is None


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"server": "onegat", "kind": "reset"}, "server is 'onegat'; expected one of onegate, oneflow, oned"),
        ({"server": "onegate", "kind": "explode"}, "'explode' is not a valid Kind"),
        ({"server": "onegate", "kind": "reset", "count": 3}, "a fault has no count"),
        ({"server": "onegate", "kind": "reset", "times": 0}, "times is 0; expected at least 1"),
        ({"server": "onegate", "kind": "slow"}, "seconds is 0"),
        ({"server": "onegate", "kind": "status"}, "status is 0"),
        ({"server": "onegate", "kind": "reset", "status": 500}, "status is 500"),
        ({"server": "onegate", "kind": "reset", "path": "("}, "missing"),
        ({"server": "onegate", "kind": "refuse", "times": 2}, "until it is cleared; use `reset`"),
        ({"server": "onegate", "kind": "refuse", "path": "/vm"}, "until it is cleared; use `reset`"),
    ],
)
def test_an_order_that_means_nothing_is_refused(client: Client, wanted: dict, complaint: str) -> None:
    with pytest.raises(ClientError, match="400") as caught:
        client.set_fault(**wanted)
    assert complaint in str(caught.value)
    assert client.faults() == []


def test_a_date_of_an_unknown_server_is_refused(client: Client) -> None:
    with pytest.raises(ClientError, match="no server gate; there are onegate, oneflow, oned"):
        client.set_date("gate", 0)


def test_the_process_ends_while_a_request_hangs(tmp_path: Path) -> None:
    simulator = Simulator(tmp_path, NullHypervisor(), "127.0.0.1", Settings(), 0, 0, 0)
    thread = threading.Thread(target=simulator.run)
    thread.start()
    client = Client(tmp_path, timeout_seconds=20)
    client.wait_ready(30)
    client.set_fault("onegate", "hang")
    client.set_fault("oneflow", "refuse")
    with socket.create_connection(("127.0.0.1", client.access()["onegate_port"]), 5) as connection:
        connection.sendall(b"GET /vm HTTP/1.1\r\nHost: gate\r\n\r\n")
        while not client.faults()[0]["spoiled"]:
            time.sleep(0.01)
        simulator.request_stop()
        thread.join(20)
        assert not thread.is_alive()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
