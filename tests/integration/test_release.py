# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts run the Debian release that was asked for, with its Python and its Slurm, and the roles suit that Slurm."""

from __future__ import annotations

import pytest

from tests.lab.image.release import BOOKWORM, TRIXIE

ROLES = ("storage", "portal", "worker")
SLURM = {BOOKWORM: "22.05", TRIXIE: "24.11"}
# What the controller makes of its configuration. 16 is the default of later versions.
SLURMCTLD = {
    BOOKWORM: {"SlurmctldParameters": "enable_configless,cloud_reg_addrs", "TreeWidth": "65533"},
    TRIXIE: {"SlurmctldParameters": "enable_configless", "TreeWidth": "16"},
}


@pytest.mark.parametrize("role", ROLES)
def test_the_host_runs_the_release(service, release, role):
    told = service.run(service.single(role), ". /etc/os-release; echo $VERSION_CODENAME").stdout
    assert told.strip() == release.suite


@pytest.mark.parametrize("role", ROLES)
def test_the_playbooks_run_under_its_python(service, release, role):
    told = service.run(service.single(role), "/opt/onehpc/venv/bin/ansible --version").stdout
    assert "ansible [core 2.19." in told
    assert f"python version = {release.python_version}." in told


def test_portal_and_worker_run_its_slurm(service, release):
    told = [
        service.run(service.single("portal"), "slurmctld -V").stdout,
        service.run(service.single("worker"), "slurmd -V").stdout,
    ]
    versions = [line.split()[-1] for line in told]
    assert [version.rpartition(".")[0] for version in versions] == [SLURM[release]] * 2


def test_the_controller_is_configured_for_its_version(service, release):
    told = service.run_on_portal("scontrol show config").stdout
    values = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
    values = {name.strip(): value.strip() for name, value in values.items()}
    assert {name: values[name] for name in SLURMCTLD[release]} == SLURMCTLD[release]


def test_the_controller_calls_nothing_in_its_configuration_defunct(service):
    log = service.run_on_portal("journalctl --no-pager --output cat --unit slurmctld").stdout
    assert "slurmctld: " in log
    assert [line for line in log.splitlines() if "defunct" in line] == []
