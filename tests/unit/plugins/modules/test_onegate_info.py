# SPDX-License-Identifier: GPL-3.0-or-later
"""onegate_info: the VM and its service as they are, without secrets."""

from __future__ import annotations

import email.utils
import json
import time

import pytest

from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.onegate_double import TOKEN, vm_body


def test_vm_and_service(onegate, connection):
    run = run_module("onegate_info", connection)
    assert run.exit_code == 0
    result = run.result
    assert result["changed"] is False
    assert result["vm"] == {
        "id": 2,
        "name": "portal_0_(service_1)",
        "state": 3,
        "lcm_state": 3,
        "is_running": True,
        "role_name": "portal",
        "addresses": ["192.0.2.12"],
        "user_template": {"READY": "YES", "ROLE_NAME": "portal", "SERVICE_ID": "1"},
        "hidden_attributes": [],
    }
    service = result["service"]
    assert (service["id"], service["name"], service["state"], service["state_name"]) == (1, "slurm-a", 2, "RUNNING")
    assert service["roles"][2] == {
        "name": "worker",
        "cardinality": 2,
        "state": 2,
        "state_name": "RUNNING",
        "nodes": [{"vm_id": 3, "name": "worker_0_(service_1)"}, {"vm_id": 4, "name": "worker_1_(service_1)"}],
    }
    assert (result["endpoint"], result["clock_skew_seconds"]) == (onegate.endpoint, None)
    assert onegate.calls() == ["GET /vm", "GET /service"]


def test_check_mode_reads_the_same(onegate, connection):
    assert (
        run_module("onegate_info", connection, check_mode=True).result == run_module("onegate_info", connection).result
    )


def test_vm_without_a_service(onegate, connection):
    onegate.vms[2] = vm_body(2)
    onegate.service = None
    run = run_module("onegate_info", connection)
    assert (run.exit_code, run.result["service"], run.result["vm"]["role_name"]) == (0, None, None)


def test_another_vm(onegate, connection):
    onegate.vms[7] = vm_body(7, role="worker", lcm_state="12")
    run = run_module("onegate_info", dict(connection, vm_id=7))
    assert (run.result["vm"]["id"], run.result["vm"]["is_running"]) == (7, False)
    assert run.result["service"]["id"] == 1


SECRETS = {
    "SLURM_MUNGE_KEY": "secret-1",
    "ONEAPP_PORTAL_CERTIFICATE_KEY": "secret-2",
    "ONEAPP_LDAP_ADMIN_PASS": "secret-3",
    "ONEAPP_AUTH_OIDC_CLIENT_SECRET": "secret-4",
    "DB_PASSWORD": "secret-5",
    "API_TOKEN": "secret-6",
    "PASSWORD": "secret-7",
    "ONEAPP_AUTH_LOCAL_USERS": "alice:secret-8",
}


def test_secrets_are_named_and_not_shown(onegate, connection):
    onegate.user_template().update(SECRETS, VECTOR={"X": "1", "X_KEY": "secret-9"}, KEYBOARD="us")
    run = run_module("onegate_info", connection)
    assert run.result["vm"]["hidden_attributes"] == sorted(SECRETS)
    assert run.result["vm"]["user_template"]["VECTOR"] == {"X": "1"}
    assert run.result["vm"]["user_template"]["KEYBOARD"] == "us"
    assert "secret-" not in run.output
    assert TOKEN not in run.output


def test_clock_skew(onegate, connection):
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    onegate.fault("status", status=200, body=json.dumps(onegate.vms[2]), headers={"Date": date}, times=1)
    run = run_module("onegate_info", connection)
    assert run.result["clock_skew_seconds"] == pytest.approx(100, abs=5)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("truncated", "the answer was cut off"),
        ("not_json", "the body is not JSON"),
        ("silent", "it did not answer in time"),
    ],
)
def test_broken_answers_are_failures_with_a_sentence(onegate, connection, kind, sentence):
    onegate.fault(kind)
    run = run_module("onegate_info", dict(connection, timeout_seconds=0.5))
    assert run.failed
    assert sentence in run.result["msg"]
    assert TOKEN not in run.output


def test_half_an_answer_is_a_failure(onegate, connection):
    del onegate.service["SERVICE"]["roles"][2]["nodes"]
    run = run_module("onegate_info", connection)
    assert run.failed
    assert "the answer is not complete: the nodes of role worker is not a list" in run.result["msg"]
