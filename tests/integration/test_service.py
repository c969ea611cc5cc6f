# SPDX-License-Identifier: GPL-3.0-or-later
"""The service of the demo on real hosts. The tests share one service and run in this order:

what holds with one worker, the demo's story, the pool with its only worker lost, each host's first_boot once more.
"""

from __future__ import annotations

import collections
import re
import shlex
from dataclasses import dataclass, field

import pytest

from tests.opennebula.states import ServiceState, VmState
from tests.service.accounting import COMPLETION_LOG, completed, wait_accounted
from tests.service.claims import CLAIMS
from tests.service.cluster import node_name
from tests.service.first_boot import changed_tasks, recap, run_again
from tests.service.progress import NotYet
from tests.service.slurm_text import is_live
from tests.service.story_timeline import entries, steps
from tests.service.timeline import missing, render

TAKES_300_MIB = "#!/bin/sh\nexec python3 -c 'print(len(bytearray(300 * 1024 * 1024)))'\n"
# A mount that is gone with its own mount namespace, whatever happens.
TRIAL_MOUNT = "unshare --mount timeout 30 sh -c 'mount -t nfs4 -o soft,timeo=50,retry=0 {source} /mnt && {then}'"

READ_BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
PUBLISH_OLDEST_IDLE = """
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import client_from_host
client_from_host().put_vm({"OLDEST_IDLE": 1})
"""


@dataclass
class Recreation:
    """A worker before its delete-recreate, and what was seen of it after. Nodes are records of scontrol."""

    node: dict[str, str]
    boot_id: str
    job_id: int
    figures: dict[str, str] = field(default_factory=dict)
    node_after: dict[str, str] = field(default_factory=dict)
    events: list[dict] = field(default_factory=list)


# -- one worker -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def storage_address(service):
    """Compute address of the storage host."""
    return service.client.vm(service.single("storage"))["TEMPLATE"]["CONTEXT"]["ETH1_IP"]


@pytest.fixture(scope="module")
def portal_address(service):
    """Compute address of the portal."""
    return service.client.vm(service.single("portal"))["TEMPLATE"]["CONTEXT"]["ETH1_IP"]


@pytest.mark.parametrize("role", ["portal", "worker"])
def test_home_is_an_nfs4_mount_of_storage(service, storage_address, role):
    mount = service.run(service.single(role), "findmnt --noheadings --output FSTYPE,SOURCE --mountpoint /home").stdout
    assert mount.split() == ["nfs4", f"{storage_address}:/export/home"]


def test_a_job_over_its_memory_is_killed_and_one_within_is_not(service):
    cluster = service.cluster
    over = cluster.submit("over", TAKES_300_MIB, "--mem=100")
    within = cluster.submit("within", TAKES_300_MIB, "--mem=400")

    def ended():
        jobs = [cluster.job(job_id) for job_id in (over, within)]
        if any(is_live(job) for job in jobs):
            raise NotYet(", ".join(job["JobState"] for job in jobs))
        return [job["JobState"] for job in jobs]

    states = service.progress.wait_for("two jobs that take 300 MiB to end", ended, timeout_seconds=120)
    assert states == ["OUT_OF_MEMORY", "COMPLETED"]
    assert cluster.read_home("within.out").strip() == str(300 * 1024 * 1024)


def test_200_jobs_are_on_record_though_slurmdbd_was_away(service):
    cluster, run, progress = service.cluster, service.run_on_portal, service.progress
    cluster.write_home("many.sh", "#!/bin/sh\nexit $(($SLURM_ARRAY_TASK_ID % 10 == 9))\n")
    submit = "sbatch --mem=50 --time=1 --output=/dev/null"
    # One task at a time is what the worker can take. What waits for that, or is held, does not make the pool grow.
    cluster.as_user(f"{submit} --job-name=many --array=0-99%1 many.sh")
    held = f"for number in $(seq 100); do {submit} --job-name=held --hold many.sh || exit; done"
    cluster.as_user(held, timeout_seconds=180)

    def wait_ended(number):
        def ended():
            jobs = completed(run, "many")
            if len(jobs) < number:
                raise NotYet(f"{len(jobs)} have")
            return jobs

        return progress.wait_for(f"{number} of 100 jobs to end", ended, timeout_seconds=420)

    wait_ended(30)
    run("systemctl stop slurmdbd")
    cluster.as_user("scancel --name=held")
    wait_ended(60)
    assert run("sacct", check=False).returncode == 1
    assert int(re.search(r"DBD Agent queue size: (\d+)", run("sdiag").stdout).group(1)) >= 100
    run("systemctl start slurmdbd")
    jobs = {**wait_ended(100), **completed(run, "held")}
    assert collections.Counter(jobs.values()) == {"COMPLETED": 90, "FAILED": 10, "CANCELLED": 100}
    wait_accounted(run, progress, jobs)


def test_root_of_a_worker_cannot_look_into_a_private_home(service):
    service.cluster.write_home("private", "for nobody else\n")
    worker = service.single("worker")
    for command in ("ls /home/alice", "cat /home/alice/private"):
        tried = service.run(worker, command, check=False)
        assert tried.returncode != 0
        assert "Permission denied" in tried.stderr
    assert service.run(worker, "runuser -u alice -- cat /home/alice/private").stdout == "for nobody else\n"


def test_root_of_a_worker_does_not_write_as_root(service):
    storage, worker = service.single("storage"), service.single("worker")
    service.run(storage, "install -d -m 1777 /export/home/open")
    tried = service.run(worker, "touch /home/by-root", check=False)
    assert tried.returncode != 0
    assert "Permission denied" in tried.stderr
    service.run(worker, "touch /home/open/by-root")
    assert service.run(storage, "stat --format %U /export/home/open/by-root").stdout.strip() == "nobody"


def test_the_portal_alone_is_given_the_state_export(service, portal_address):
    exports = service.run(service.single("storage"), "exportfs -s").stdout.splitlines()
    clients = [line.split()[1].partition("(")[0] for line in exports if line.split()[0] == "/export/slurm"]
    assert clients == [portal_address]


def test_the_portal_can_mount_the_state_export(service, storage_address):
    command = TRIAL_MOUNT.format(source=f"{storage_address}:/export/slurm", then="ls /mnt")
    assert "munge" in service.run(service.single("portal"), command).stdout.split()


def test_a_worker_cannot_mount_the_state_export(service, storage_address):
    worker = service.single("worker")
    home = service.run(worker, TRIAL_MOUNT.format(source=f"{storage_address}:/export/home", then="ls /mnt"))
    assert "alice" in home.stdout.split()
    state = service.run(
        worker, TRIAL_MOUNT.format(source=f"{storage_address}:/export/slurm", then="ls /mnt"), check=False
    )
    assert state.returncode != 0
    above = service.run(worker, TRIAL_MOUNT.format(source=f"{storage_address}:/", then="ls /mnt/export"))
    assert above.stdout.split() == ["home"]


# -- the story --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_story(story, claim):
    found = claim(story)
    assert found.holds, f"{found.sentence}: {found.evidence}"


def test_the_timeline_has_every_step(story):
    lines = entries(story)
    print("\n".join(["", *render(lines)]))
    assert missing(lines, steps(story)) == []


# -- the only worker is lost ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lost_worker(service, story):
    """Id of the only worker, terminated by hand just now, outside OneFlow. Nothing is waited for."""
    worker = service.single("worker")
    service.client.terminate(worker)
    return worker


@pytest.fixture(scope="module")
def empty_pool(service, lost_worker):
    """The moment at which no node is registered any more: the lost worker has deleted its own while it shut down."""

    def no_node():
        nodes = service.cluster.nodes()
        if nodes:
            raise NotYet(", ".join(f"{name} {node['State']}" for name, node in nodes.items()))
        return True

    service.progress.wait_for(f"node {node_name(lost_worker)} to be deleted", no_node, timeout_seconds=120)
    return lost_worker


@pytest.mark.parametrize("role", ["storage", "portal"])
def test_first_boot_once_more_changes_nothing_without_a_worker(service, lost_worker, role):
    assert_nothing_changes(service, role)


def test_a_job_submitted_to_an_empty_pool_waits_and_runs(service, empty_pool):
    cluster = service.cluster
    job_id = cluster.submit("early", "#!/bin/sh\nhostname\n", "--mem=100")
    submitted = cluster.job(job_id)
    nodes = cluster.nodes()
    assert submitted["JobState"] == "PENDING"
    assert nodes == {}

    job = cluster.wait_job(job_id, "COMPLETED", 720)
    new_worker = service.single("worker")
    assert new_worker > empty_pool
    assert job["NodeList"] == node_name(new_worker)
    assert cluster.read_home("early.out").strip() == node_name(new_worker)
    assert (job["Restarts"], job["ExitCode"]) == ("0", "0:0")


def test_the_minimum_brought_the_new_worker(service, empty_pool):
    events = service.client.events()
    lost = next(event for event in events if event["kind"] == "VM_TERMINATE" and event["vm"] == empty_pool)
    later = [event for event in events if event["seq"] > lost["seq"]]
    assert int(service.client.vm(empty_pool)["STATE"]) == VmState.DONE
    assert [event["kind"] for event in later if event["kind"] in {"MINIMUM_FIRED", "POLICY_FIRED"}] == ["MINIMUM_FIRED"]
    assert service.role("worker")["cardinality"] == 1


# -- once more --------------------------------------------------------------------------------------------------------


def test_first_boot_once_more_changes_nothing_on_a_worker(service):
    assert_nothing_changes(service, "worker")


def test_reboot_starts_from_neutral_figures(service):
    worker = service.single("worker")
    since = len(service.client.events())
    before = service.run(worker, "cat /proc/sys/kernel/random/boot_id").stdout
    service.run(worker, "systemctl reboot", check=False)

    def withdrawn():
        return service.client.vm(worker)["USER_TEMPLATE"]["READY"] == "NO"

    service.progress.wait_for("READY to be withdrawn", withdrawn, timeout_seconds=120)
    published = service.client.vm(worker)["USER_TEMPLATE"]
    assert [published[name] for name in ("SLURM_PENDING", "OLDEST_IDLE", "ERROR")] == ["0", "0", ""]
    service.wait_ready(worker)
    assert service.run(worker, "cat /proc/sys/kernel/random/boot_id").stdout != before
    ready = [event for event in service.client.events()[since:] if event["kind"] == "READY" and event["vm"] == worker]
    assert [event["text"] for event in ready] == ["READY: YES -> NO", "READY: NO -> YES"]


@pytest.fixture(scope="module")
def recreated_worker(service):
    """The only worker after a delete-recreate that met it drained by somebody, with a job and figures of its own."""
    cluster, client, worker = service.cluster, service.client, service.single("worker")
    name = node_name(worker)
    job_id = cluster.submit("swept", "#!/bin/sh\nsleep 3600\n", "--mem=100")
    cluster.wait_job(job_id, "RUNNING", 60)
    service.run(worker, "systemctl stop onehpc-reconcile-worker.timer onehpc-reconcile-worker.service")
    service.run(worker, f"cd /opt/onehpc/collections && python3 -c {shlex.quote(PUBLISH_OLDEST_IDLE)}")
    service.run_on_portal(f"scontrol update nodename={name} state=drain reason='fan is loud, see 7'")
    before = Recreation(cluster.nodes()[name], service.run(worker, READ_BOOT_ID).stdout, job_id)
    since = client.events()[-1]["seq"]
    client.delete_recreate(worker)

    def withdrawn():
        return client.vm(worker)["USER_TEMPLATE"]["READY"] == "NO"

    service.progress.wait_for("READY to be withdrawn", withdrawn, timeout_seconds=180)
    before.figures = client.vm(worker)["USER_TEMPLATE"]
    service.wait_ready(worker)
    before.node_after = cluster.nodes()[name]
    before.events = [event for event in client.events(since) if event["vm"] == worker]
    return before


def test_a_recreated_worker_starts_from_neutral_figures(service, recreated_worker):
    assert service.run(service.single("worker"), READ_BOOT_ID).stdout != recreated_worker.boot_id
    kinds = ("VM_STATE", "VM_UPDATE", "READY")
    events = [event["text"] for event in recreated_worker.events if event["kind"] in kinds]
    assert events[:5] == ["CLEANUP_RESUBMIT", "PENDING", "PROLOG", "BOOT", "RUNNING"]
    assert set(events[5:7]) == {"READY: YES -> NO", "OLDEST_IDLE: 1 -> 0"}
    figures = recreated_worker.figures
    assert [figures[name] for name in ("SLURM_PENDING", "OLDEST_IDLE", "ERROR")] == ["0", "0", ""]
    assert [text for text in events if text.startswith("READY")] == ["READY: YES -> NO", "READY: NO -> YES"]
    assert service.state() is ServiceState.RUNNING


def test_a_recreated_worker_takes_its_name_over_and_keeps_somebodys_drain(service, recreated_worker):
    old, new = recreated_worker.node, recreated_worker.node_after
    assert int(new["SlurmdStartTime"]) > int(old["SlurmdStartTime"])
    assert "+DRAIN" in new["State"]
    assert new["Reason"].startswith("fan is loud, see 7 [")
    assert service.cluster.wait_job(recreated_worker.job_id, "NODE_FAIL", 60)["Restarts"] == "0"


def test_a_recreated_worker_works(service, recreated_worker):
    name = node_name(service.single("worker"))
    service.run_on_portal(f"scontrol update nodename={name} state=undrain")
    job_id = service.cluster.submit("anew", "#!/bin/sh\nhostname\n", "--mem=100")
    assert service.cluster.wait_job(job_id, "COMPLETED", 120)["NodeList"] == name
    assert_nothing_changes(service, "worker")


def test_no_job_was_lost(service):
    # The controller itself forgets a job five minutes after its end. What these four names are for is not to complete.
    others = (
        f"grep --invert-match --extended-regexp ' Name=(many|held|over|swept) | JobState=COMPLETED ' {COMPLETION_LOG}"
    )
    assert service.run_on_portal(f"{others} || test $? = 1").stdout == ""


def test_each_job_is_on_record_on_the_state_export_and_in_the_database(service):
    run = service.run_on_portal
    states = {name: completed(run, name) for name in ("over", "within", "first", "second", "early")}
    assert [list(of_name.values()) for of_name in states.values()] == [["OUT_OF_MEMORY"], *[["COMPLETED"]] * 4]
    wait_accounted(
        run, service.progress, {job_id: state for of_name in states.values() for job_id, state in of_name.items()}
    )


def test_the_user_was_registered_under_the_default_account(service):
    job_id = next(iter(completed(service.run_on_portal, "early")))
    listed = service.cluster.as_user(f"sacct -X -n -P -j {job_id} -o User,Account,State").stdout
    assert listed == "alice|users|COMPLETED\n"


def test_a_worker_that_loses_its_power_takes_its_job_and_its_node_along(service):
    cluster, worker = service.cluster, service.single("worker")
    name = node_name(worker)
    job_id = cluster.submit("doomed", "#!/bin/sh\nsleep 3600\n", "--mem=100", "--requeue")
    cluster.wait_job(job_id, "RUNNING", 60)
    service.client.terminate(worker, hard=True)

    def is_gone():
        node = service.cluster.nodes().get(name)
        if node:
            raise NotYet(node["State"])
        return True

    # Its guest could not take it along: the portal's tick does, from two readings, once slurmctld has lost contact.
    service.progress.wait_for(f"node {name} to be deleted", is_gone, timeout_seconds=300)
    job = cluster.wait_job(job_id, "NODE_FAIL", 60)
    assert (job["Restarts"], job["NodeList"]) == ("0", name)
    wait_accounted(service.run_on_portal, service.progress, {job_id: "NODE_FAIL"})


def assert_nothing_changes(service, role):
    """The role's first_boot, run once more, changes nothing and leaves READY alone."""
    vm_id = service.single(role)
    service.wait_ready(vm_id)
    before = len(service.client.events())
    log = run_again(service, vm_id)
    figures = recap(log)
    assert figures["ok"] >= 10
    assert (figures["changed"], changed_tasks(log)) == (0, [])
    assert (figures["failed"], figures["unreachable"], figures["rescued"], figures["ignored"]) == (0, 0, 0, 0)
    # Another host may become READY meanwhile.
    events = service.client.events()[before:]
    assert [event for event in events if event["kind"] == "READY" and event["vm"] == vm_id] == []
