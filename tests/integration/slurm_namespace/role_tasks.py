# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks of the portal role run by Ansible on the controller's host."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.checks.environment import tool_environment
from tests.integration.slurm_namespace.cluster import CONTROLLER, ClusterError, SlurmCluster

PLAYBOOK = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: onehpc.ondemand.portal
        tasks_from: {tasks_from}
"""


def run_role_tasks(cluster: SlurmCluster, tasks_from: str, *options: str) -> int:
    """Run one task file of the role with Debian's Python; returns how many tasks changed something.

    ClusterError with Ansible's output when a task fails.
    """
    directory = cluster.run_dir / "ansible"
    directory.mkdir(exist_ok=True)
    playbook = directory / "playbook.yml"
    playbook.write_text(PLAYBOOK.format(tasks_from=tasks_from))
    configuration = directory / "ansible.cfg"
    configuration.write_text("[defaults]\nlocalhost_warning = false\n")
    argv = [*cluster.command_prefix(CONTROLLER), sys.executable, "-m", "ansible", "playbook"]
    argv += ["-e", "ansible_python_interpreter=/usr/bin/python3", *options, str(playbook)]
    environment = {**tool_environment(), "ANSIBLE_CONFIG": str(configuration)}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=environment)
    recap = re.search(r"changed=(\d+)", done.stdout)
    if done.returncode != 0 or recap is None:
        raise ClusterError(done.stdout + done.stderr)
    return int(recap.group(1))
