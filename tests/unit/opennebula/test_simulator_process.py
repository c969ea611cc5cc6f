# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator as a process, spoken to by its client and over HTTP."""

from __future__ import annotations

import http.client
import itertools
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.opennebula.client import Client, ClientError
from tests.opennebula.clock import SystemClock
from tests.opennebula.hypervisor import Guest, NullHypervisor
from tests.opennebula.settings import Settings
from tests.opennebula.simulator import ACCESS_NAME, LOG_NAME, PID_NAME, SOCKET_NAME, Simulator
from tests.unit.opennebula.scenario import CONTEXT, NETWORKS, service_template

ROOT = Path(__file__).parents[3]


def start(run_dir: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.opennebula", "serve", "--run-dir", str(run_dir)]
    command += ["--onegate-port", "0", "--oneflow-port", "0", "--oned-port", "0", "--autoscaler-interval", "0.2"]
    return subprocess.Popen(command, cwd=ROOT)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Client]]:
    # longer than an address of a unix socket may be
    run_dir = tmp_path / ("long" * 20)
    running = start(run_dir)
    client = Client(run_dir)
    try:
        client.wait_ready(30)
        yield running, client
    finally:
        if running.poll() is None:
            running.kill()
        running.wait(10)


def eventually(predicate: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not predicate():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def put(client: Client, vm_id: int, *lines: str, kind: int = 1) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", client.access()["onegate_port"], timeout=10)
    headers = {
        "X-ONEGATE-TOKEN": client.token(vm_id) or "",
        "X-ONEGATE-VMID": str(vm_id),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    connection.request("PUT", "/vm", urlencode({"data": "\n".join(lines), "type": kind}), headers)
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def test_a_service_from_instantiation_to_removal(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    running, client = process
    vm_template = client.create_vm_template({"NAME": "host", "MEMORY": "1024", "CONTEXT": CONTEXT})
    assert client.networks() == {"Management": 0, "Compute": 1}
    policies = [
        {"type": "CHANGE", "adjust": 1, "expression": "SLURM_PENDING > 0", "cooldown": 0},
        {"type": "CHANGE", "adjust": -1, "expression": "OLDEST_IDLE > 0.99", "cooldown": 0},
    ]
    template = client.create_service_template(service_template(vm_template, elasticity_policies=policies))
    service_id = client.instantiate(template, name="ood", networks_values=NETWORKS)

    def body() -> dict:
        return client.service(service_id)["DOCUMENT"]["TEMPLATE"]["BODY"]

    def runs(vm_id: int) -> bool:
        return len(client.vms()) > vm_id and client.vm(vm_id)["LCM_STATE"] == 3

    for vm_id in (0, 1, 2):
        eventually(lambda vm_id=vm_id: runs(vm_id))
        assert put(client, vm_id, "READY=YES") == (200, b"")
    eventually(lambda: body()["state"] == 2)
    put(client, 2, "SLURM_PENDING=1")
    eventually(lambda: runs(3))
    put(client, 2, "SLURM_PENDING=0", "OLDEST_IDLE=1")
    put(client, 3, "SLURM_PENDING=0", "OLDEST_IDLE=1", "READY=YES")
    eventually(lambda: client.vm(2)["STATE"] == 6)
    eventually(lambda: body()["state"] == 2)
    assert [node["deploy_id"] for node in body()["roles"][2]["nodes"]] == [3]
    client.terminate(3)
    eventually(lambda: runs(4))
    kinds = {event["kind"] for event in client.events()}
    assert {"POLICY_FIRED", "MINIMUM_FIRED", "CARDINALITY", "VM_STATE", "READY", "COOLDOWN"} <= kinds
    last = client.events()[-1]["seq"]
    put(client, 4, "READY=YES")
    assert [event["kind"] for event in client.events(since=last)][0] == "READY"
    eventually(lambda: body()["state"] == 2)
    client.delete_service(service_id)

    def gone() -> bool:
        try:
            client.service(service_id)
        except ClientError as error:
            return error.status == 404
        return False

    eventually(gone)
    client.shutdown(30)
    assert running.wait(10) == 0


def test_shutdown_leaves_nothing_but_the_log(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    running, client = process
    client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")
    eventually(lambda: client.vm(0)["LCM_STATE"] == 3)
    client.shutdown(30)
    assert running.wait(10) == 0
    run_dir = client._run_dir
    assert [path.name for path in run_dir.iterdir()] == [LOG_NAME]
    assert "vm=0: DONE" in (run_dir / LOG_NAME).read_text()
    with pytest.raises(ClientError, match="does not answer"):
        client.wait_ready(0)


def test_sigterm_is_the_same(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    running, client = process
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 0
    assert not (client._run_dir / PID_NAME).exists()


def test_files_are_private_and_the_log_holds_no_secret(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    running, client = process
    run_dir = client._run_dir
    for name in (ACCESS_NAME, PID_NAME, SOCKET_NAME):
        assert stat.S_IMODE((run_dir / name).stat().st_mode) & 0o077 == 0, name
    assert int((run_dir / PID_NAME).read_text()) == running.pid
    client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")
    assert put(client, 0, "A=1")[0] == 200
    log = (run_dir / LOG_NAME).read_text()
    assert "VM_UPDATE" in log
    assert client.token(0) not in log
    assert client.access()["password"] not in log


def test_onegate_over_http(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    _, client = process
    client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")
    connection = http.client.HTTPConnection("127.0.0.1", client.access()["onegate_port"], timeout=10)
    headers = {"X-ONEGATE-TOKEN": client.token(0) or "", "X-ONEGATE-VMID": "0"}
    for method, path, own, status in (
        ("GET", "/vm", headers, 200),
        ("HEAD", "/vm", headers, 200),
        ("GET", "/vm", {}, 401),
        ("DELETE", "/vm", headers, 400),
    ):
        connection.request(method, path, headers=own)
        response = connection.getresponse()
        text = response.read()
        assert response.status == status, (method, path)
        assert response.getheader("Content-Type") == "application/json;charset=utf-8"
        assert response.getheader("Date") is None
        if method != "HEAD":
            assert int(response.getheader("Content-Length")) == len(text) > 0
    connection.close()


def test_updates_at_the_same_time_lose_nothing(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    _, client = process
    client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")

    def publish(writer: int) -> list[int]:
        return [put(client, 0, f"W{writer}_{number}={number}", f"LAST_{writer}={number}")[0] for number in range(15)]

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(publish, range(8)))
    assert {status for answers in statuses for status in answers} == {200}
    stored = client.vm(0)["USER_TEMPLATE"]
    assert {f"W{writer}_{number}" for writer in range(8) for number in range(15)} <= set(stored)
    assert {stored[f"LAST_{writer}"] for writer in range(8)} == {"14"}


def test_an_erase_loses_what_others_write_meanwhile(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    _, client = process
    client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")
    client.configure_onegate(erase_gap_seconds=1)
    assert put(client, 0, "A=1")[0] == 200
    with ThreadPoolExecutor(1) as pool:
        erasing = pool.submit(put, client, 0, "A", kind=2)
        names = (f"N{number}" for number in itertools.count())
        written = list(
            itertools.takewhile(lambda name: put(client, 0, f"{name}=1")[0] == 200 and not erasing.done(), names)
        )
    assert erasing.result() == (200, b"")
    stored = client.vm(0)["USER_TEMPLATE"]
    assert "A" not in stored
    assert set(written) - set(stored), "written while the erase was under way, and accepted"


def test_oneflow_over_http_needs_the_password(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    _, client = process
    connection = http.client.HTTPConnection("127.0.0.1", client.access()["oneflow_port"], timeout=10)
    connection.request("GET", "/service")
    response = connection.getresponse()
    assert (response.status, response.read()) == (401, b"A username and password must be provided")
    connection.request("GET", "/control/vms")
    response = connection.getresponse()
    assert response.status == 401, "control is served on the unix socket only"
    response.read()
    connection.close()


def test_errors_name_what_failed(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    _, client = process
    with pytest.raises(ClientError, match=r"GET /control/vms/9: 409 .*virtual machine \[9\]") as caught:
        client.vm(9)
    assert caught.value.status == 409
    with pytest.raises(ClientError, match="400 KEY: 'roles' is required;"):
        client.create_service_template({"name": "t"})
    with pytest.raises(ClientError, match="POST /control/vms: 400|404"):
        client._control("POST", "/control/vms", {"name": "x"})


def test_what_an_administrator_changes_while_it_runs(process: tuple[subprocess.Popen[bytes], Client]) -> None:
    _, client = process
    template = client.create_vm_template({"CONTEXT": CONTEXT, "NIC": [{"NETWORK_ID": "0"}]})
    client.create_vm(template, "solo")
    client.configure_onegate(denied=["vm.update"])
    assert put(client, 0, "A=1") == (403, b"Action (update) on resource (vm) not supported")
    client.configure_onegate(denied=[], shows_causes=True)
    status, body = put(client, 0, "A=b,c")
    assert (status, body[:27]) == (500, b"[one.vm.update] Parse error")
    with pytest.raises(ClientError, match="no setting wings"):
        client.configure_onegate(wings=2)
    assert client.set_conditions(host_slots=1)["host_slots"] == 1
    with pytest.raises(ClientError, match="400"):
        client.set_conditions(wings=2)
    client.set_oneflow_available(False)
    with pytest.raises(ClientError, match="400"):
        client._control("PUT", "/control/oneflow", {})
    assert client.create_image("one") == 0
    assert client.create_image("two") == 1


class SlowHypervisor(NullHypervisor):
    """Starts and stops take until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def deploy(self, guest: Guest) -> None:
        assert self.let_go.wait(20)
        super().deploy(guest)

    def shutdown(self, name: str, timeout_seconds: float) -> None:
        assert self.let_go.wait(20)
        super().shutdown(name, timeout_seconds)


def test_slow_guests_never_block_answers(tmp_path: Path) -> None:
    hypervisor = SlowHypervisor()
    simulator = Simulator(tmp_path, hypervisor, "127.0.0.1", Settings(power_poll_seconds=0.1), 0, 0, 0)
    assert isinstance(simulator.clock, SystemClock)
    thread = threading.Thread(target=simulator.run)
    thread.start()
    try:
        client = Client(tmp_path, timeout_seconds=5)
        client.wait_ready(10)
        client.create_vm(client.create_vm_template({"CONTEXT": CONTEXT}), "solo")
        eventually(lambda: client.vm(0)["LCM_STATE"] == 2)
        assert put(client, 0, "A=1")[0] == 200
        hypervisor.let_go.set()
        eventually(lambda: client.vm(0)["LCM_STATE"] == 3)
        hypervisor.let_go.clear()
        client.terminate(0)
        assert put(client, 0, "A=2")[0] == 200
        assert client.vm(0)["LCM_STATE"] == 12
        hypervisor.let_go.set()
        eventually(lambda: client.vm(0)["STATE"] == 6)
    finally:
        hypervisor.let_go.set()
        simulator.request_stop()
        thread.join(30)
    assert not thread.is_alive()
    assert os.listdir(tmp_path) == []
