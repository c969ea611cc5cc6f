# SPDX-License-Identifier: GPL-3.0-or-later
"""MariaDB and slurmdbd on the controller's host; the database is set up by the portal role's own tasks."""

from __future__ import annotations

import shutil

from tests.checks.environment import ROOT
from tests.integration.slurm_namespace.cluster import CONTROLLER, SlurmCluster
from tests.integration.slurm_namespace.role_tasks import run_role_tasks

PROGRAMS = ("mariadb", "mariadbd", "mariadb-install-db", "slurmdbd", "sacct", "sacctmgr")
# What a test can lose: the controller's state, the completion log beside it, and the database.
STATE = "/var/spool"
JOBCOMP_LOG = f"{STATE}/jobcomp/jobcomp.log"
PASSWORD_FILE = f"{STATE}/mariadb/password"
ROLE_OPTIONS = ("-e", f"portal_state_mount={STATE}")

SLURM_CONF = f"""\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={CONTROLLER}
AccountingStorageTRES=gres/gpu
JobSubmitPlugins=lua
JobCompType=jobcomp/filetxt
JobCompLoc={JOBCOMP_LOG}
"""
_SLURMDBD_CONF = f"""\
AuthType=auth/munge
DbdHost={CONTROLLER}
SlurmUser=slurm
PidFile=/run/slurmdbd.pid
LogFile={STATE}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass={{password}}
StorageLoc=slurm_acct_db
"""
# It leaves the database behind, with its output in a file.
_START_DATABASE = """\
set -e
mkdir /run/mysqld
mariadb-install-db --no-defaults --user=root --datadir="$1" --auth-root-authentication-method=socket > "$1.log" 2>&1
mariadbd --no-defaults --user=root --datadir="$1" --socket=/run/mysqld/mysqld.sock --skip-networking \
  --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 >> "$1.log" 2>&1 &
"""


def start_accounting(cluster: SlurmCluster) -> None:
    """Start both and wait until slurmdbd answers."""
    shutil.copy(ROOT / "roles/portal/files/job_submit.lua", cluster.run_dir / "etc")
    cluster.run(CONTROLLER, "install", "--directory", "--owner=slurm", f"{STATE}/jobcomp")
    cluster.run(CONTROLLER, "install", "--directory", "--mode=0700", f"{STATE}/mariadb")
    cluster.run(CONTROLLER, "sh", "-c", _START_DATABASE, "sh", str(cluster.run_dir / "mysql"), timeout_seconds=60)
    cluster.wait_for(
        "MariaDB to answer", lambda: cluster.run(CONTROLLER, "mariadb", "-e", "SELECT 1", check=False).returncode == 0
    )
    run_role_tasks(cluster, "database", *ROLE_OPTIONS)
    configuration = cluster.run_dir / "etc/slurmdbd.conf"
    configuration.write_text(_SLURMDBD_CONF.format(password=cluster.run(CONTROLLER, "cat", PASSWORD_FILE).stdout))
    configuration.chmod(0o600)
    shutil.chown(configuration, "slurm", "slurm")
    start_slurmdbd(cluster)


def start_slurmdbd(cluster: SlurmCluster) -> None:
    """Start slurmdbd and wait until it answers."""
    cluster.run(CONTROLLER, "slurmdbd")
    cluster.wait_for(
        "slurmdbd to answer",
        lambda: cluster.run(CONTROLLER, "sacctmgr", "show", "clusters", check=False).returncode == 0,
    )


def sql(cluster: SlurmCluster, statement: str) -> str:
    """Run a statement as the database's root; returns its rows, a line each."""
    return cluster.run(CONTROLLER, "mariadb", "--batch", "--skip-column-names", "-e", statement).stdout


def accounted(cluster: SlurmCluster, *job_ids: int) -> dict[int, str]:
    """Job id -> state as sacct has it (CANCELLED without by whom), of those of the jobs that are on record."""
    ids = ",".join(map(str, job_ids))
    argv = ("sacct", "-X", "-n", "-P", "-j", ids, "-o", "JobIDRaw,State")
    lines = cluster.run(CONTROLLER, *argv).stdout.splitlines()
    return {int(job_id): state.partition(" ")[0] for job_id, state in (line.split("|") for line in lines)}
