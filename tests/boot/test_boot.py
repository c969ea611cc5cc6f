# SPDX-License-Identifier: GPL-3.0-or-later
"""Boots that go wrong on real hosts end in time with one sentence; a later good one leaves no trace of it."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import transliterate
from tests.service.boot_bench import BootBench
from tests.service.boot_faults import COMMON_FAULTS, WORKER_FAULTS
from tests.service.git_server import GitServer

NFS_CONF = "/etc/nfs.conf.d/onehpc.conf"


@pytest.fixture(scope="module")
def storage(service):
    bench = BootBench(service, "storage")
    yield bench
    bench.leave()


@pytest.fixture(scope="module")
def worker(service):
    bench = BootBench(service, "worker")
    yield bench
    bench.leave()


def show_failure(bench, fault):
    """Set the fault, boot, compare, take it back."""
    since = len(bench.client.events())
    fault.set(bench)
    try:
        attempt = bench.attempt()
    finally:
        fault.unset(bench)
        bench.mend()
    shown = "\n".join(attempt.lines)
    assert attempt.status != 0, shown
    assert attempt.seconds < fault.seconds
    sentence = attempt.lines[-1]
    assert sentence.startswith(fault.sentence), shown
    assert fault.also in sentence
    if fault.published:
        assert bench.published()["ERROR"] == transliterate(sentence)
        assert bench.published()["READY"] == "NO"
    ready = [event for event in bench.client.events()[since:] if event["kind"] == "READY"]
    assert [event["text"] for event in ready if event["vm"] == bench.vm_id and event["text"].endswith("-> YES")] == []


def show_recovery(bench):
    bench.set_variables(worker_registration_wait_seconds=60)
    attempt = bench.attempt()
    assert attempt.status == 0, "\n".join(attempt.lines)
    assert (bench.published()["ERROR"], bench.published()["READY"]) == ("", "YES")


@pytest.mark.parametrize("fault", COMMON_FAULTS, ids=lambda fault: fault.name)
def test_fault(storage, fault):
    show_failure(storage, fault)


def test_later_good_boot_erases_the_error(storage):
    show_recovery(storage)


@pytest.mark.parametrize("fault", WORKER_FAULTS, ids=lambda fault: fault.name)
def test_fault_of_a_worker(worker, fault):
    show_failure(worker, fault)


def test_later_good_boot_of_the_worker_erases_the_error(worker):
    show_recovery(worker)


@pytest.fixture(scope="module")
def git_server(service, tmp_path_factory):
    server = GitServer(service.lab, tmp_path_factory.mktemp("git"))
    yield server
    server.end()


def test_collection_is_pulled_and_changes_a_role(storage, git_server):
    git_server.change("galaxy.yml", "version: 0.1.0", "version: 0.1.9")
    git_server.change("roles/storage/defaults/main.yml", "storage_nfs_threads: 8", "storage_nfs_threads: 9")
    git_server.change("roles/storage/meta/argument_specs.yml", "default: 8", "default: 9")
    commit = git_server.commit("Serve with one thread more")
    storage.set_context(ONEAPP_COLLECTION_URL=git_server.url)
    attempt = storage.attempt()
    assert attempt.status == 0, "\n".join(attempt.lines)
    assert attempt.lines[0] == f"Code of {git_server.url}: version 0.1.9, commit {commit}."
    assert "threads = 9" in storage.run(f"cat {NFS_CONF}")
    tick = "systemctl start onehpc-reconcile-storage.service; readlink -f /run/onehpc/collections"
    assert storage.run(tick).strip() == "/var/lib/onehpc/pulled"
    assert storage.published()["READY"] == "YES"


def test_later_run_of_that_boot_keeps_the_source(storage, git_server):
    attempt = storage.later_attempt()
    assert attempt.status == 0, "\n".join(attempt.lines)
    assert attempt.lines[0].startswith("Code as since the last power-on: version 0.1.9,")


def test_dead_url_boots_the_copy_of_the_image_and_says_so(storage, git_server):
    git_server.end()
    storage.set_context(ONEAPP_COLLECTION_URL=git_server.url)
    attempt = storage.attempt()
    assert attempt.status == 0, "\n".join(attempt.lines)
    assert attempt.lines[0].startswith("Code of the image: version 0.1.0, commit ")
    assert f"{git_server.url} at its default branch (ONEAPP_COLLECTION_URL) could not be used: " in attempt.lines[0]
    assert "threads = 8" in storage.run(f"cat {NFS_CONF}")
