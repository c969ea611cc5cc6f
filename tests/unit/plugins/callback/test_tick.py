# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tick leaves in the journal: one line, whether it goes well or fails."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.unit.plugins.nfs_server_double import NfsServerDouble
from tests.unit.plugins.onegate_double import service_body, vm_body
from tests.unit.plugins.pool_service import OWN, PoolService

PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Something else
      ansible.builtin.debug:
        msg: not worth a line
    - name: Do the tick's work
      onehpc.ondemand.{module}: "{{{{ arguments }}}}"
"""


def lines_of(directory, playbook, arguments, environment):
    """What a run prints, on both streams, and its exit code."""
    (directory / "play.yml").write_text(playbook)
    extra = {"arguments": arguments, "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    ran = subprocess.run(
        ["ansible-playbook", "-i", "host,", "-c", "local", "-e", json.dumps(extra), "play.yml"],
        cwd=directory,
        env={
            **os.environ,
            **environment,
            "HOME": str(directory),
            "ANSIBLE_STDOUT_CALLBACK": "onehpc.ondemand.tick",
            "ANSIBLE_DEPRECATION_WARNINGS": "0",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout.splitlines(), ran.returncode


@pytest.fixture
def pool(onegate, connection, tmp_path):
    return PoolService(onegate, connection, tmp_path)


@pytest.mark.parametrize(("module", "own_role"), [("pool_report", "worker"), ("pool_reconcile", "portal")])
@pytest.mark.parametrize("goes_well", [True, False])
def test_a_tick_of_the_pool(pool, tmp_path, module, own_role, goes_well):
    pool.list_workers(*((1, 2, 3) if own_role == "worker" else (1, 3)), own_role=own_role)
    arguments = {**pool.arguments, "node_prefix": "w", "memory_path": str(pool.memory)}
    if module == "pool_report":
        arguments["node_name"] = OWN
    if not goes_well:
        pool.slurm.change(faults={"squeue": [1, "", "slurm_load_jobs error:\n  Protocol authentication error\n", 0]})
    lines, code = lines_of(tmp_path, PLAYBOOK.format(module=module), arguments, pool.slurm.environment)
    assert len(lines) == 1, lines
    if goes_well:
        assert (code, lines[0].startswith(f"onehpc.ondemand.{module}: ")) == (0, True), lines
    else:
        assert (code, lines[0].startswith("Do the tick's work: failed: 'squeue")) == (2, True), lines
        assert "slurm_load_jobs error: Protocol authentication error" in lines[0]


@pytest.mark.parametrize("goes_well", [True, False])
def test_a_tick_of_the_storage_host(onegate, connection, tmp_path, goes_well):
    folder = tmp_path / "nfs"
    folder.mkdir()
    nfs = NfsServerDouble(folder)
    onegate.service = service_body(storage=[2], portal=[7])
    onegate.vms[2] = vm_body(2, "storage")
    onegate.vms[7] = vm_body(7, "portal", address="192.0.2.7")
    arguments = {**connection, **nfs.options, "compute_network": "192.0.2.0/24" if goes_well else "nonsense"}
    lines, code = lines_of(tmp_path, PLAYBOOK.format(module="state_export"), arguments, nfs.environment)
    assert len(lines) == 1, lines
    assert lines[0].startswith("onehpc.ondemand.state_export: " if goes_well else "Do the tick's work: failed: "), lines
    assert code == (0 if goes_well else 2)


def test_a_playbook_that_is_wrong_says_so_in_one_line(tmp_path):
    playbook = PLAYBOOK.format(module="pool_leave").replace("{{ arguments }}", "{{ nothing_of_that_name }}")
    lines, code = lines_of(tmp_path, playbook, {}, {})
    assert (len(lines), code) == (1, 2), lines
    assert "nothing_of_that_name" in lines[0]
