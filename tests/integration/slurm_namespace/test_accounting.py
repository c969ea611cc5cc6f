# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounting with a real slurmdbd and MariaDB. The tests build on each other: the last lose the state."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.integration.slurm_namespace import accounting
from tests.integration.slurm_namespace.accounting import JOBCOMP_LOG, PASSWORD_FILE, STATE, accounted, sql
from tests.integration.slurm_namespace.cluster import CONTROLLER, PROGRAMS, ClusterError, SlurmCluster
from tests.integration.slurm_namespace.role_tasks import run_role_tasks

FIRST_JOB_ID = f"{STATE}/first_job_id"
JOB_TABLE = "slurm_acct_db.ood_job_table"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A controller with accounting and one worker, w1."""
    missing = [program for program in (*PROGRAMS, *accounting.PROGRAMS) if shutil.which(program) is None]
    assert not missing, f"not installed: {', '.join(missing)}"
    with SlurmCluster(
        tmp_path_factory.mktemp("cluster"),
        slurmd_timeout_seconds=10,
        extra_conf=accounting.SLURM_CONF,
        before_controller=accounting.start_accounting,
    ) as running:
        running.add_worker("w1")
        yield running


def find_first_job_id(cluster, *options):
    """Run the role's tasks; returns the id that is remembered then and how many tasks changed something."""
    changed = run_role_tasks(cluster, "first_job_id", *accounting.ROLE_OPTIONS, *options)
    return cluster.run(CONTROLLER, "cat", FIRST_JOB_ID, check=False).stdout, changed


def as_nobody(cluster, *argv):
    return cluster.run(CONTROLLER, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *argv).stdout


def test_the_database_is_set_up_once_with_a_password_of_its_own(cluster):
    password = cluster.run(CONTROLLER, "cat", PASSWORD_FILE).stdout
    assert re.fullmatch(r"[A-Za-z0-9]{32}", password)
    assert cluster.run(CONTROLLER, "stat", "--format=%U %a", PASSWORD_FILE).stdout == "root 600\n"
    assert run_role_tasks(cluster, "database", *accounting.ROLE_OPTIONS) == 0
    assert cluster.run(CONTROLLER, "cat", PASSWORD_FILE).stdout == password
    refused = cluster.run(CONTROLLER, "mariadb", "--user=slurm", "--password=another", "-e", "SELECT 1", check=False)
    assert "Access denied" in refused.stderr


def test_a_user_nobody_registered_runs_jobs_and_finds_them(cluster):
    job = int(as_nobody(cluster, "sbatch", "--parsable", "-D", "/", "-o", "/dev/null", "--wrap", "true"))
    cluster.wait_for("the job to be on record", lambda: accounted(cluster, job) == {job: "COMPLETED"})
    listing = ("sacct", "-X", "-n", "-P", "-o", "JobIDRaw,State")
    # sacct's window ends now and leaves out what happened this very second.
    cluster.wait_for("the user to see it", lambda: as_nobody(cluster, *listing) == f"{job}|COMPLETED\n")


def test_the_users_of_the_host_are_registered_once(cluster):
    passwd = cluster.run_dir / "passwd"
    passwd.write_text(
        Path("/etc/passwd").read_text() + "alice:x:2001:2001::/:/bin/sh\nbob:x:100001:100001::/:/bin/sh\n"
    )
    cluster.run(CONTROLLER, "mount", "--bind", str(passwd), "/etc/passwd")
    assert run_role_tasks(cluster, "accounts") == 2
    assert run_role_tasks(cluster, "accounts") == 0
    listing = ("sacctmgr", "-n", "-P", "show", "associations", "format=account,user")
    registered = cluster.run(CONTROLLER, *listing).stdout.splitlines()
    assert {"users|alice", "users|bob"} <= set(registered)
    assert not {"users|nobody", "users|slurm", "users|daemon"} & set(registered)


def test_the_controller_is_on_record(cluster):
    assert run_role_tasks(cluster, "serving") == 0
    with pytest.raises(
        ClusterError, match="has not registered cluster other with slurmdbd, which lists ood at port 6817"
    ):
        run_role_tasks(cluster, "serving", "-e", "portal_cluster_name=other portal_slurmdbd_wait_seconds=0")


def test_what_ends_while_slurmdbd_is_away_is_on_record_later(cluster, client):
    cluster.wait_for("slurmdbd to have everything", lambda: client.accounting_backlog() == 0)
    held = cluster.submit("--hold")
    cluster.stop_daemon(CONTROLLER, "slurmdbd")
    good, bad = cluster.submit(script="true"), cluster.submit(script="false")
    with pytest.raises(ClusterError, match=r"After 2 s slurmdbd does not answer .*Look at journalctl -u slurmdbd"):
        run_role_tasks(cluster, "accounts", "-e", "portal_slurmdbd_wait_seconds=2")
    cluster.run(CONTROLLER, "scancel", str(held))
    expected = {held: "CANCELLED", good: "COMPLETED", bad: "FAILED"}
    cluster.wait_for("the jobs to end", lambda: {job: cluster.job_state(job) for job in expected} == expected)
    assert client.accounting_backlog() >= len(expected)
    cluster.stop_controller()
    cluster.start_controller()  # with state it needs no slurmdbd
    later = cluster.submit(script="true")
    cluster.wait_for("the later job to end", lambda: cluster.job_state(later) == "COMPLETED")
    accounting.start_slurmdbd(cluster)
    expected[later] = "COMPLETED"
    cluster.wait_for("all to be on record", lambda: accounted(cluster, *expected) == expected)
    cluster.wait_for("slurmdbd to have everything", lambda: client.accounting_backlog() == 0)


def test_a_job_that_asks_to_be_requeued_is_told_that_it_is_not(cluster):
    told = cluster.run(CONTROLLER, "sbatch", "--requeue", "-o", "/dev/null", "--wrap", "true").stderr
    assert "a job is never moved to another node here: --requeue has no effect" in told
    job = cluster.submit("--requeue", "--begin=now+1hour")
    cluster.run(CONTROLLER, "scontrol", "update", f"jobid={job}", "requeue=1")
    assert " Requeue=0 " in cluster.run(CONTROLLER, "scontrol", "-o", "show", "job", str(job)).stdout
    cluster.run(CONTROLLER, "scancel", str(job))


def test_a_job_of_a_worker_that_is_gone_has_failed_and_is_not_moved(cluster):
    job = cluster.submit("--requeue")
    cluster.wait_for("the job to run", lambda: cluster.job_state(job) == "RUNNING")
    cluster.add_worker("w2")
    cluster.kill_host("w1")
    cluster.wait_for("the job to end", lambda: cluster.job_state(job) == "NODE_FAIL", timeout_seconds=120)
    cluster.wait_for("that to be on record", lambda: accounted(cluster, job) == {job: "NODE_FAIL"})
    assert cluster.run(CONTROLLER, "squeue", "-h", "-t", "PD,R", "-j", str(job)).stdout == ""


def test_a_controller_with_state_needs_no_first_id(cluster):
    assert find_first_job_id(cluster)[0] == ""


def test_a_controller_that_lost_its_state_goes_on_above_every_id_on_record(cluster):
    forged = "x\nJobId=99999999 UserId=mallory(1) "
    last = cluster.submit(name=forged, script="true")
    cluster.wait_for("the last job to be on record", lambda: accounted(cluster, last) == {last: "COMPLETED"})
    cluster.wait_for("its line", lambda: f"JobId={last} " in cluster.run(CONTROLLER, "cat", JOBCOMP_LOG).stdout)
    cluster.stop_controller()
    cluster.run(CONTROLLER, "sh", "-c", f"rm -r {STATE}/slurmctld/*")

    assert find_first_job_id(cluster) == ("1001", 1)
    assert find_first_job_id(cluster) == ("1001", 0)

    with (cluster.run_dir / "etc/slurm.conf").open("a") as conf:
        conf.write("FirstJobId=1001\n")
    cluster.start_controller()
    assert cluster.submit() == 1001


def test_each_of_the_two_records_counts(cluster):
    cluster.stop_controller()
    cluster.run(CONTROLLER, "sh", "-c", f"rm -r {STATE}/slurmctld/*; mv {JOBCOMP_LOG} {STATE}/moved")
    sql(cluster, f"UPDATE {JOB_TABLE} SET id_job = 4321 ORDER BY id_job DESC LIMIT 1")
    assert find_first_job_id(cluster)[0] == "5001"
    sql(cluster, f"DELETE FROM {JOB_TABLE}")
    assert find_first_job_id(cluster)[0] == "1"
    cluster.run(CONTROLLER, "mv", f"{STATE}/moved", JOBCOMP_LOG)
    assert find_first_job_id(cluster)[0] == "1001"


def test_a_cluster_that_is_new_to_the_database_starts_from_the_completion_log(cluster):
    cluster.run(CONTROLLER, "rm", FIRST_JOB_ID)
    assert find_first_job_id(cluster, "-e", '{"portal_slurm_conf": {"ClusterName": "other"}}')[0] == "1001"
