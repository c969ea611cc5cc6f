# SPDX-License-Identifier: GPL-3.0-or-later
"""state_export: the portal alone, the old address out before the new one in, and no change on any doubt."""

from __future__ import annotations

import pytest

from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.nfs_server_double import NfsServerDouble
from tests.unit.plugins.onegate_double import service_body, vm_body

OPTIONS = "rw,sync,no_subtree_check,no_root_squash,sec=sys"


@pytest.fixture
def nfs(tmp_path):
    folder = tmp_path / "nfs"
    folder.mkdir()
    return NfsServerDouble(folder)


@pytest.fixture
def run(nfs, connection):
    def run_once(check_mode=False, **options):
        arguments = dict(connection, **nfs.options, compute_network="192.0.2.0/24", **options)
        return run_module("state_export", arguments, check_mode, nfs.environment)

    return run_once


def test_portal_gets_the_export_and_a_second_run_changes_nothing(onegate, nfs, run):
    first = run()
    assert first.exit_code == 0, first.result
    assert (first.result["changed"], first.result["removed"]) == (True, [])
    assert (first.result["portal_address"], first.result["portal_vm_id"]) == ("192.0.2.12", 2)
    assert (first.result["certain"], first.result["reason"]) == (True, "the portal is VM 2 at 192.0.2.12")
    assert nfs.exports_file.read_text().splitlines()[1:] == [f"/export/slurm 192.0.2.12({OPTIONS})"]
    assert nfs.exports_file.stat().st_mode & 0o777 == 0o644
    assert first.result["diff"]["before"] == ""
    assert first.result["diff"]["after"] == nfs.exports_file.read_text()
    assert (nfs.calls(), nfs.exported()) == (["-ra"], ["192.0.2.12"])
    assert onegate.calls() == ["GET /service", "GET /vms/2"]

    second = run()
    assert second.result["changed"] is False
    assert second.result["diff"]["before"] == second.result["diff"]["after"]
    assert nfs.calls() == []


def test_old_address_goes_before_the_new_one_comes(onegate, nfs, run):
    run()
    nfs.calls()
    onegate.service = service_body(portal=[2, 9])
    onegate.vms[9] = vm_body(9, "portal", address="192.0.2.19")
    told = run(check_mode=True)
    assert (nfs.calls(), nfs.exported()) == ([], ["192.0.2.12"])
    done = run()
    assert told.result == done.result
    assert (done.result["changed"], done.result["removed"]) == (True, ["192.0.2.12"])
    assert nfs.calls() == ["-u 192.0.2.12:/export/slurm", "-ra"]
    assert nfs.exported() == ["192.0.2.19"]


@pytest.mark.parametrize("present", [True, False])
def test_check_mode_tells_what_the_run_does(nfs, run, present):
    if present:
        run()
    told = run(check_mode=True)
    assert nfs.exports_file.exists() == present
    done = run()
    assert told.result == done.result
    assert done.result["changed"] is not present


def test_without_a_portal_nobody_has_the_export(onegate, nfs, run):
    run()
    onegate.service = service_body(portal=[])
    nfs.calls()
    done = run()
    assert (done.result["changed"], done.result["removed"]) == (True, ["192.0.2.12"])
    assert (done.result["portal_address"], done.result["reason"]) == (None, "the service lists no portal")
    assert "192.0.2" not in nfs.exports_file.read_text()
    assert nfs.exported() == []
    assert run().result["changed"] is False


def test_portal_that_is_listed_and_does_not_run_keeps_what_is(onegate, nfs, run):
    run()
    nfs.calls()
    onegate.vms[2]["VM"]["LCM_STATE"] = "16"
    done = run()
    assert (done.exit_code, done.result["changed"], done.result["certain"]) == (0, False, False)
    assert done.result["reason"] == "the portal (VM 2) is listed, but not in state RUNNING"
    assert (nfs.calls(), nfs.exported()) == ([], ["192.0.2.12"])


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda onegate: onegate.fault("status", status=404, body="Service 1 not found"), "Service 1 not found"),
        (lambda onegate: onegate.fault("truncated"), "the answer was cut off"),
        (lambda onegate: onegate.vms.pop(2), "Service 1 does not contain VM 2"),
        (lambda onegate: onegate.service["SERVICE"]["roles"].pop(1), "has no role portal"),
        (
            lambda onegate: onegate.vms[2]["VM"]["TEMPLATE"]["NIC"].clear(),
            "Portal VM 2 has 0 addresses in 192.0.2.0/24",
        ),
    ],
)
def test_failed_or_odd_read_changes_nothing(onegate, nfs, run, break_it, sentence):
    run()
    nfs.calls()
    before = nfs.exports_file.read_text()
    break_it(onegate)
    done = run(timeout_seconds=1)
    assert done.failed
    assert sentence in done.result["msg"]
    assert (nfs.calls(), nfs.exported(), nfs.exports_file.read_text()) == ([], ["192.0.2.12"], before)


def test_run_that_was_cut_off_between_file_and_kernel_is_made_good(nfs, run):
    run()
    nfs.etab.write_text("/export/slurm\t192.0.2.99(rw)\n/export/home\t192.0.2.0/24(rw)\n")
    nfs.calls()
    done = run()
    assert (done.result["changed"], done.result["removed"]) == (True, ["192.0.2.99"])
    assert nfs.calls() == ["-u 192.0.2.99:/export/slurm", "-ra"]
    assert nfs.exported() == ["192.0.2.12"]


def test_changed_options_are_applied(nfs, run):
    run()
    nfs.calls()
    assert run(options="rw,async").result["changed"] is True
    assert nfs.calls() == ["-ra"]


def test_other_exports_are_left_alone(nfs, run):
    home = nfs.exports_file.with_name("home.exports")
    home.write_text("/export/home 192.0.2.0/24(rw,sync)\n")
    run()
    assert nfs.exported("/export/home") == ["192.0.2.0/24"]


def test_second_line_for_the_state_elsewhere_is_a_failure(nfs, run):
    nfs.exports_file.with_name("site.exports").write_text("/export/slurm *(rw,no_root_squash)\n")
    done = run()
    assert done.failed
    assert "should be exported to 192.0.2.12 alone, but is exported to 192.0.2.12, *" in done.result["msg"]


def test_exportfs_that_fails_is_a_sentence(nfs, run):
    nfs.fail("nfsd: no such device")
    done = run()
    assert done.failed
    assert done.result["msg"].endswith("exportfs -ra failed (1): exportfs: nfsd: no such device")


def test_missing_folder_for_the_file_is_a_sentence(nfs, run):
    nfs.exports_file.parent.rmdir()
    done = run()
    assert done.failed
    assert done.result["msg"] == f"{nfs.exports_file} cannot be written: No such file or directory."
