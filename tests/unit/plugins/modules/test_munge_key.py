# SPDX-License-Identifier: GPL-3.0-or-later
"""munge_key: the portal's key in its file, whole, owned, waited for, and in no output."""

from __future__ import annotations

import base64
import os
import stat
import threading

import pytest

from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.onegate_double import TOKEN, service_body, vm_body

KEY = bytes(range(256)) * 4
PUBLISHED = base64.b64encode(KEY).decode()


@pytest.fixture
def arguments(onegate, connection, tmp_path):
    onegate.user_template()["SLURM_MUNGE_KEY"] = PUBLISHED.rstrip("=")
    return dict(
        connection,
        path=str(tmp_path / "munge.key"),
        owner=str(os.getuid()),
        group=str(os.getgid()),
        wait_seconds=0,
    )


def assert_untold(run):
    assert PUBLISHED[:40] not in run.output
    assert TOKEN not in run.output


@pytest.mark.parametrize("text", [PUBLISHED, PUBLISHED.rstrip("=")])
def test_key_is_installed_and_a_second_run_changes_nothing(onegate, arguments, tmp_path, text):
    onegate.user_template()["SLURM_MUNGE_KEY"] = text
    run = run_module("munge_key", arguments)
    assert run.exit_code == 0, run.result
    path = tmp_path / "munge.key"
    assert path.read_bytes() == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert (run.result["changed"], run.result["portal_vm_id"]) == (True, 2)
    assert run.result["differed"] == ["content", "owner", "group", "mode"]
    assert onegate.calls() == ["GET /service", "GET /vms/2"]
    again = run_module("munge_key", arguments)
    assert (again.result["changed"], again.result["differed"]) == (False, [])
    assert again.result["diff"]["before"] == again.result["diff"]["after"] == ""
    assert_untold(run)
    assert_untold(again)


@pytest.mark.parametrize("present", [None, b"another key", KEY])
def test_check_mode_tells_what_the_run_does(arguments, tmp_path, present):
    path = tmp_path / "munge.key"
    if present:
        path.write_bytes(present)
    told = run_module("munge_key", arguments, check_mode=True)
    assert path.read_bytes() == present if present else not path.exists()
    done = run_module("munge_key", arguments)
    assert told.result == done.result
    assert done.result["changed"] is True
    assert_untold(told)


def test_rotated_key_replaces_the_old_one(onegate, arguments, tmp_path):
    run_module("munge_key", arguments)
    onegate.user_template()["SLURM_MUNGE_KEY"] = base64.b64encode(KEY[::-1]).decode()
    run = run_module("munge_key", arguments)
    assert (run.result["changed"], run.result["differed"]) == (True, ["content"])
    assert (tmp_path / "munge.key").read_bytes() == KEY[::-1]
    assert os.listdir(tmp_path).count("munge.key") == 1


def test_an_unquoted_mode_is_octal_too(arguments, tmp_path):
    assert run_module("munge_key", dict(arguments, mode=400)).result["changed"]
    assert stat.S_IMODE((tmp_path / "munge.key").stat().st_mode) == 0o400


def test_mode_alone_is_put_right(arguments, tmp_path):
    run_module("munge_key", arguments)
    os.chmod(tmp_path / "munge.key", 0o644)
    run = run_module("munge_key", arguments)
    assert run.result["differed"] == ["mode"]
    assert run.result["diff"]["after"] == "mode: changed\n"
    assert stat.S_IMODE((tmp_path / "munge.key").stat().st_mode) == 0o400


def test_key_of_the_newest_portal_that_runs(onegate, arguments):
    onegate.service = service_body(portal=[5, 9, 12])
    onegate.vms[5] = vm_body(5, "portal", SLURM_MUNGE_KEY=base64.b64encode(b"o" * 32).decode())
    onegate.vms[9] = vm_body(9, "portal", SLURM_MUNGE_KEY=PUBLISHED)
    onegate.vms[12] = vm_body(12, "portal", lcm_state="2")
    assert run_module("munge_key", arguments).result["portal_vm_id"] == 9


def test_key_that_is_published_later_is_waited_for(onegate, arguments, tmp_path):
    del onegate.user_template()["SLURM_MUNGE_KEY"]
    onegate.fault("status", status=404, body="Service 1 not found", times=1)
    seen = threading.Event()

    def publish_after_the_first_look():
        while not seen.wait(0.02):
            if onegate.calls().count("GET /vms/2"):
                onegate.user_template()["SLURM_MUNGE_KEY"] = PUBLISHED
                seen.set()

    publisher = threading.Thread(target=publish_after_the_first_look)
    publisher.start()
    try:
        run = run_module("munge_key", dict(arguments, wait_seconds=30))
    finally:
        seen.set()
        publisher.join()
    assert run.exit_code == 0, run.result
    assert (tmp_path / "munge.key").read_bytes() == KEY
    assert onegate.calls().count("GET /vms/2") >= 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "portal VM 2 has not published SLURM_MUNGE_KEY yet"),
        ("", "portal VM 2 has not published SLURM_MUNGE_KEY yet"),
        ("AAAA", "portal VM 2: SLURM_MUNGE_KEY holds 3 bytes, munge needs at least 32"),
        ("not base64 at all; but a long secret text", "portal VM 2: SLURM_MUNGE_KEY is not base64"),
    ],
)
def test_missing_or_unusable_key_leaves_the_file(onegate, arguments, tmp_path, text, sentence):
    (tmp_path / "munge.key").write_bytes(b"old")
    if text is None:
        del onegate.user_template()["SLURM_MUNGE_KEY"]
    else:
        onegate.user_template()["SLURM_MUNGE_KEY"] = text
    run = run_module("munge_key", arguments)
    assert run.failed
    assert run.result["msg"].startswith(f"No munge key after 0.0 s: {sentence}. See the portal's first boot")
    assert not text or text not in run.output
    assert (tmp_path / "munge.key").read_bytes() == b"old"


def test_refused_token_is_not_waited_for(onegate, arguments):
    onegate.fault("status", status=401, body="Not authorized")
    run = run_module("munge_key", dict(arguments, wait_seconds=600))
    assert run.failed
    assert "answered 401 to GET /service" in run.result["msg"]
    assert onegate.calls() == ["GET /service"]


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("owner", "nobody-here", "There is no user nobody-here on this host."),
        ("group", "nobody-here", "There is no group nobody-here on this host."),
        ("mode", "u=r", "'u=r' is not a mode"),
        ("path", "/nonexistent/munge.key", "/nonexistent/munge.key cannot be written: No such file or directory."),
    ],
)
def test_wrong_option_is_a_sentence(arguments, option, value, sentence):
    for check_mode in (True, False):
        run = run_module("munge_key", dict(arguments, **{option: value}), check_mode=check_mode)
        assert run.failed
        assert run.result["msg"].startswith(sentence)
        assert_untold(run)
