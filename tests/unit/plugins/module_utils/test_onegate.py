# SPDX-License-Identifier: GPL-3.0-or-later
"""The client against a OneGate that answers, refuses, breaks off and keeps silent."""

from __future__ import annotations

import email.utils
import socket
import time

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import onegate as onegate_code
from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ContextError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import AttributeRefused
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from tests.unit.plugins.onegate_double import TOKEN, vm_body


@pytest.fixture
def client(onegate):
    return OneGateClient(onegate.endpoint, TOKEN, 2, timeout_seconds=5)


@pytest.fixture
def short_pauses(monkeypatch):
    monkeypatch.setattr(onegate_code, "RETRY_PAUSES_SECONDS", (0.01, 0.01, 0.01))


def unused_endpoint():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_reads(client, onegate):
    onegate.vms[7] = vm_body(7, role="worker", address="192.0.2.17")
    assert client.get_vm().role_name == "portal"
    assert client.get_vm_by_id(7).addresses == ("192.0.2.17",)
    assert client.get_service().role("worker").vm_ids == (3, 4)
    assert onegate.calls() == ["GET /vm", "GET /vms/7", "GET /service"]


def test_update_is_one_form_with_every_attribute(client, onegate):
    client.put_vm({"READY": "YES", "SLURM_PENDING": 0, "ERROR": "", "OOD_URL": "https://h/?x=1&y=50%"})
    (request,) = onegate.requests
    assert (request.method, request.path) == ("PUT", "/vm")
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.form == {"data": 'READY=YES\nSLURM_PENDING=0\nERROR=""\nOOD_URL=https://h/?x=1&y=50%', "type": "1"}


def test_update_of_another_vm(client, onegate):
    onegate.vms[7] = vm_body(7, role="worker")
    client.put_vm_by_id(7, {"OLDEST_IDLE": 0})
    assert onegate.calls() == ["PUT /vms/7"]
    assert onegate.user_template(7)["OLDEST_IDLE"] == "0"


def test_refused_attribute_sends_nothing(client, onegate):
    with pytest.raises(AttributeRefused):
        client.put_vm({"READY": "YES", "ERROR": "a,b"})
    assert onegate.requests == []


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (401, "Not authorized", "answered 401 to GET /vm: Not authorized. The token of this VM was not accepted"),
        (403, "Attribute (SERVICE_ID) cannot be modified", "answered 403 to GET /vm: Attribute (SERVICE_ID) cannot"),
        (404, "Service 1 not found", "answered 404 to GET /vm: Service 1 not found. OneGate did not find it; it also"),
        (400, "Empty or invalid SERVICE_ID", "answered 400 to GET /vm: Empty or invalid SERVICE_ID."),
        (302, "", "answered 302 to GET /vm"),
    ],
)
def test_answers_that_no_repetition_betters_are_asked_for_once(client, onegate, status, body, sentence):
    onegate.fault("status", status=status, body=body, headers={"Location": "/elsewhere"})
    with pytest.raises(OneGateError) as error:
        client.get_vm()
    assert onegate.calls() == ["GET /vm"]
    assert sentence in str(error.value)
    assert (error.value.method, error.value.path, error.value.endpoint) == ("GET", "/vm", onegate.endpoint)
    assert (error.value.status, error.value.retryable) == (status, False)
    assert error.value.not_authorized == (status in (401, 403))


def test_server_that_is_away_three_times_is_asked_a_fourth_time(client, onegate):
    onegate.fault("status", status=503, body="", times=3)
    client.put_vm({"READY": "YES"})
    assert onegate.calls() == ["PUT /vm"] * 4
    assert onegate.user_template()["READY"] == "YES"


def test_server_that_stays_away(client, onegate, short_pauses):
    onegate.fault("status", status=500, body="Internal server error")
    with pytest.raises(OneGateError, match="500 to PUT /vm: Internal server error. The cause is only in") as error:
        client.put_vm({"READY": "YES"})
    assert len(onegate.requests) == 4
    assert error.value.retryable


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("truncated", "the answer was cut off"),
        ("not_json", "the body is not JSON"),
        ("not_http", "the answer was not HTTP"),
        ("closed", "it closed the connection without an answer"),
    ],
)
def test_broken_answers_are_told_and_tried_again(client, onegate, kind, why, short_pauses):
    onegate.fault(kind, times=1)
    assert client.get_service().id == 1
    onegate.fault(kind)
    with pytest.raises(OneGateError, match=why) as error:
        client.get_service()
    assert error.value.retryable
    assert len(onegate.requests) == 2 + 4


def test_refused_connection(short_pauses):
    endpoint = unused_endpoint()
    forgotten = []
    client = OneGateClient(endpoint, TOKEN, 2, timeout_seconds=5, on_unreachable=lambda: forgotten.append(True))
    with pytest.raises(OneGateError, match=f"OneGate at {endpoint} could not be used for GET /vm: the connection was"):
        client.get_vm()
    assert forgotten == [True]


@pytest.mark.parametrize(("status", "times_forgotten"), [(401, 1), (403, 0), (404, 0), (500, 0)])
def test_an_endpoint_that_does_not_know_us_is_looked_for_anew(onegate, short_pauses, status, times_forgotten):
    onegate.fault("status", status=status, body="Not authorized")
    forgotten = []
    client = OneGateClient(onegate.endpoint, TOKEN, 2, timeout_seconds=5, on_unreachable=lambda: forgotten.append(True))
    with pytest.raises(OneGateError):
        client.get_vm()
    assert len(forgotten) == times_forgotten


@pytest.mark.parametrize("kind", ["silent", "drip"])
def test_deadline_holds_for_the_whole_call(onegate, kind):
    onegate.fault(kind)
    client = OneGateClient(onegate.endpoint, TOKEN, 2, timeout_seconds=0.8)
    begin = time.monotonic()
    with pytest.raises(OneGateError, match="it did not answer in time") as error:
        client.get_vm()
    assert time.monotonic() - begin < 2.5
    assert (error.value.status, error.value.retryable) == (None, True)


def test_retries_end_with_the_deadline(onegate):
    onegate.fault("status", status=503)
    client = OneGateClient(onegate.endpoint, TOKEN, 2, timeout_seconds=0.6)
    with pytest.raises(OneGateError):
        client.get_vm()
    assert len(onegate.requests) == 2


def test_answer_without_service_is_an_error_of_status_400(client, onegate):
    onegate.service = None
    with pytest.raises(OneGateError, match="Empty or invalid SERVICE_ID") as error:
        client.get_service()
    assert error.value.status == 400


def test_token_that_the_server_echoes_is_not_told(client, onegate):
    onegate.fault("status", status=400, body=f"bad header {TOKEN}\n\x1b[31m")
    with pytest.raises(OneGateError) as error:
        client.get_vm()
    assert TOKEN not in repr(vars(error.value)) + str(error.value)
    assert "bad header <token> [31m" in str(error.value)


@pytest.mark.parametrize("token", ["", None, "two words", "line\nbreak", "ü"])
def test_token_that_cannot_be_sent_is_refused_untold(token):
    with pytest.raises(ContextError) as error:
        OneGateClient("http://127.0.0.1:1", token, 2)
    assert not token or token not in str(error.value)


@pytest.mark.parametrize(
    "endpoint", ["", None, "127.0.0.1:5030", "ftp://h", "http://h:x", "http://h/ b", "http://u:p@h"]
)
def test_what_is_no_endpoint_is_refused(endpoint):
    with pytest.raises(ContextError, match="is not an endpoint"):
        OneGateClient(endpoint, TOKEN, 2)


def test_proxy_of_the_environment_is_not_used(client, onegate, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, unused_endpoint())
    assert client.get_vm().id == 2
    assert onegate.calls() == ["GET /vm"]


@pytest.mark.parametrize("skew_seconds", [-3600, 0, 90])
def test_clock_skew_comes_from_the_date(client, onegate, skew_seconds):
    client.get_vm()
    assert client.server_clock_skew_seconds is None
    date = email.utils.formatdate(time.time() + skew_seconds, usegmt=True)
    onegate.fault("status", status=401, body="Not authorized", headers={"Date": date})
    with pytest.raises(OneGateError):
        client.get_vm()
    assert client.server_clock_skew_seconds == pytest.approx(skew_seconds, abs=2.5)


class TestOrders:
    """What OneFlow and OpenNebula are asked to do: sent once, whatever comes of it."""

    def test_a_cardinality(self, client, onegate):
        client.put_cardinality("worker", 5)
        (request,) = onegate.requests
        assert (request.method, request.path, request.order) == ("PUT", "/service/role/worker", {"cardinality": 5})
        assert client.get_service().role("worker").cardinality == 5

    def test_a_cardinality_that_oneflow_does_not_take(self, client, onegate):
        with pytest.raises(OneGateError, match="answered 400 to PUT /service/role/worker: Error performing") as raised:
            client.put_cardinality("worker", 10)
        assert (raised.value.status, len(onegate.requests)) == (400, 1)

    def test_a_terminate(self, client, onegate):
        onegate.vms[7] = vm_body(7, role="worker")
        client.terminate_vm(7)
        (request,) = onegate.requests
        assert (request.method, request.path) == ("POST", "/vms/7/action")
        assert request.order == {"action": {"perform": "terminate"}}
        assert not client.get_vm_by_id(7).is_running

    def test_a_terminate_that_is_forbidden(self, client, onegate):
        onegate.forbidden_actions.add("terminate")
        with pytest.raises(OneGateError, match="is not allowed on this resource") as raised:
            client.terminate_vm(7)
        assert raised.value.status == 403

    @pytest.mark.parametrize("kind", ["closed", "truncated"])
    def test_nothing_is_sent_twice(self, client, onegate, kind):
        onegate.fault(kind)
        for order in (lambda: client.terminate_vm(7), lambda: client.put_cardinality("worker", 5)):
            with pytest.raises(OneGateError):
                order()
        assert len(onegate.requests) == 2

    def test_the_deadline_holds(self, onegate):
        onegate.fault("silent")
        begin = time.monotonic()
        with pytest.raises(OneGateError, match="did not answer in time"):
            OneGateClient(onegate.endpoint, TOKEN, 2, timeout_seconds=0.3).terminate_vm(7)
        assert time.monotonic() - begin < 2
