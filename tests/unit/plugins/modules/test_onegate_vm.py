# SPDX-License-Identifier: GPL-3.0-or-later
"""onegate_vm: what differs, in one update; the same said in check mode; no secret in any output."""

from __future__ import annotations

import pytest

from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.onegate_double import TOKEN, vm_body

ATTRIBUTES = {"READY": "NO", "SLURM_PENDING": 0, "OLDEST_IDLE": "0", "ERROR": ""}
SECRET = "c2VjcmV0IG11bmdlIGtleSBvZiB0aGUgY2x1c3Rlcg"


def test_what_differs_goes_in_one_update_and_a_second_run_changes_nothing(onegate, connection):
    onegate.user_template().update(OLDEST_IDLE="0", OTHER="kept")
    first = run_module("onegate_vm", dict(connection, attributes=ATTRIBUTES))
    assert first.exit_code == 0
    assert first.result["changed"] is True
    assert first.result["updated"] == ["READY", "SLURM_PENDING", "ERROR"]
    assert (first.result["vm_id"], first.result["endpoint"]) == (2, onegate.endpoint)
    assert first.result["diff"] == {
        "before": {"READY": "YES", "OLDEST_IDLE": "0"},
        "after": {"READY": "NO", "SLURM_PENDING": "0", "OLDEST_IDLE": "0", "ERROR": ""},
    }
    assert onegate.calls() == ["GET /vm", "PUT /vm", "GET /vm"]
    assert onegate.requests[1].form["data"] == 'READY=NO\nSLURM_PENDING=0\nERROR=""'
    assert onegate.user_template()["OTHER"] == "kept"

    onegate.requests.clear()
    second = run_module("onegate_vm", dict(connection, attributes=ATTRIBUTES))
    assert (second.result["changed"], second.result["updated"]) == (False, [])
    assert second.result["diff"]["before"] == second.result["diff"]["after"]
    assert onegate.calls() == ["GET /vm"]


@pytest.mark.parametrize("present", [{}, {"READY": "NO", "SLURM_PENDING": "0", "OLDEST_IDLE": "0", "ERROR": ""}])
def test_check_mode_tells_what_the_run_does(onegate, connection, present):
    onegate.user_template().update(present)
    arguments = dict(connection, attributes=ATTRIBUTES, secret_attributes={"SLURM_MUNGE_KEY": SECRET})
    told = run_module("onegate_vm", arguments, check_mode=True)
    assert onegate.calls("PUT") == []
    done = run_module("onegate_vm", arguments)
    assert told.result == done.result
    assert done.result["changed"] is True


def test_secrets_appear_nowhere(onegate, connection):
    onegate.user_template()["A_KEY"] = "b2xkIHZhbHVlIG9mIHRoZSBrZXk"
    arguments = dict(connection, secret_attributes={"SLURM_MUNGE_KEY": SECRET, "A_KEY": SECRET[::-1]})
    for run in (run_module("onegate_vm", arguments), run_module("onegate_vm", arguments)):
        assert run.exit_code == 0
        for secret in (SECRET, SECRET[::-1], TOKEN, "b2xkIHZhbHVlIG9mIHRoZSBrZXk"):
            assert secret not in run.output
    assert onegate.user_template()["SLURM_MUNGE_KEY"] == SECRET
    first = run_module("onegate_vm", dict(arguments, secret_attributes={"SLURM_MUNGE_KEY": "bmV3IGtleQ"}))
    assert first.result["diff"] == {
        "before": {"SLURM_MUNGE_KEY": "<secret>"},
        "after": {"SLURM_MUNGE_KEY": "<secret, changed>"},
    }


def test_another_vm_of_the_service(onegate, connection):
    onegate.vms[7] = vm_body(7, role="worker", OLDEST_IDLE="1")
    run = run_module("onegate_vm", dict(connection, vm_id=7, attributes={"OLDEST_IDLE": 0}))
    assert (run.result["changed"], run.result["vm_id"]) == (True, 7)
    assert onegate.calls() == ["GET /vms/7", "PUT /vms/7", "GET /vms/7"]


def test_free_text_is_transliterated(onegate, connection):
    error = 'portal: mount failed, see "journalctl" [x=1]\nnow'
    arguments = dict(connection, attributes={"ERROR": error}, transliterate=["ERROR"])
    assert run_module("onegate_vm", arguments).result["changed"] is True
    assert onegate.user_template()["ERROR"] == "portal: mount failed; see 'journalctl' (x:1) now"
    assert run_module("onegate_vm", arguments).result["changed"] is False


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"attributes": {"READY": "YES", "ERROR": "a,b"}}, "The value of ERROR holds a comma at position 2"),
        ({"attributes": {"READY": True}}, "READY is a YAML boolean"),
        ({"attributes": {"ready": "YES"}}, "'ready' cannot be the name of an attribute"),
        ({"attributes": {"SERVICE_ID": "1"}}, "SERVICE_ID belongs to OpenNebula"),
        ({"attributes": {"A": "1"}, "secret_attributes": {"A": "longer1"}}, "A is given both as an attribute"),
        ({"attributes": {"A": "1"}, "transliterate": ["B"]}, "B is to be transliterated, but is not among"),
    ],
)
def test_what_would_be_refused_is_refused_before_anything_is_sent(onegate, connection, arguments, sentence):
    for check_mode in (True, False):
        run = run_module("onegate_vm", dict(connection, **arguments), check_mode=check_mode)
        assert run.failed
        assert run.result["msg"].startswith(sentence)
    assert onegate.calls("PUT") == []


def test_refusal_of_a_secret_does_not_tell_it(onegate, connection):
    run = run_module("onegate_vm", dict(connection, secret_attributes={"A_KEY": "hidden,value"}))
    assert run.failed
    assert "The value of A_KEY holds a comma at position 7" in run.result["msg"]
    assert "hidden" not in run.output


def test_value_that_reads_back_different_is_a_failure(onegate, connection):
    onegate.stored_differently["READY"] = "NO"
    run = run_module("onegate_vm", dict(connection, attributes={"READY": "MAYBE", "A": "1"}))
    assert run.failed
    assert "took the update of VM 2, but READY read back different" in run.result["msg"]
    run = run_module("onegate_vm", dict(connection, attributes={"READY": "MAYBE"}, read_back=False))
    assert run.exit_code == 0


def test_refused_token_is_told_once_asked(onegate, connection, one_env):
    one_env.write_text('export TOKENTXT="d3Jvbmc="\nexport VMID="2"\n')
    run = run_module("onegate_vm", dict(connection, attributes={"READY": "YES"}))
    assert run.failed
    assert f"OneGate at {onegate.endpoint} answered 401 to GET /vm: Not authorized. The token" in run.result["msg"]
    assert "d3Jvbmc=" not in run.output
    assert onegate.calls() == ["GET /vm"]


def test_silent_server_is_a_failure_in_time(onegate, connection):
    onegate.fault("silent")
    run = run_module("onegate_vm", dict(connection, attributes={"A": "1"}, timeout_seconds=0.5), timeout_seconds=15)
    assert run.failed
    assert "could not be used for GET /vm: it did not answer in time" in run.result["msg"]


def test_endpoint_of_the_context_is_found_and_remembered(onegate, connection, one_env, tmp_path):
    one_env.write_text(one_env.read_text() + f'export ONEGATE_ENDPOINT="{onegate.endpoint}"\n')
    arguments = dict(connection, attributes={"A": "1"})
    del arguments["endpoint"]
    assert run_module("onegate_vm", arguments).result["endpoint"] == onegate.endpoint
    assert (tmp_path / "endpoint").read_text() == onegate.endpoint + "\n"
    onegate.requests.clear()
    assert run_module("onegate_vm", arguments).result["changed"] is False
    assert onegate.calls() == ["GET /vm"]
