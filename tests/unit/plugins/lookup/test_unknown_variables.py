# SPDX-License-Identifier: GPL-3.0-or-later
"""A misspelt variable is named, whatever a role has is not."""

from __future__ import annotations

import json
import subprocess

import yaml

from ansible_collections.onehpc.ondemand.plugins.plugin_utils.role_variables import ROLES_PATH, unknown_names

PLAY = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: onehpc.ondemand.common
        tasks_from: variables
        public: true
    - ansible.builtin.debug:
        msg: "{{ query('onehpc.ondemand.unknown_variables') | join(', ') or 'none' }}"
"""


def told(tmp_path, **variables):
    (tmp_path / "play.yml").write_text(PLAY)
    argv = ["ansible-playbook", "-i", "localhost,", "play.yml", "-e", json.dumps(variables)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_the_roles_have_and_what_is_not_theirs(tmp_path):
    assert '"msg": "none"' in told(tmp_path, storage_nfs_threads=4, site_name="a", commonly_used="b")


def test_misspelt(tmp_path):
    said = told(tmp_path, storage_nfs_lease_second=15, worker_xyzzy_quux=1)
    assert '"msg": "storage_nfs_lease_second (storage_nfs_lease_seconds?), worker_xyzzy_quux"' in said


def test_every_default_is_known():
    defaults = [yaml.safe_load(path.read_text()) for path in ROLES_PATH.glob("*/defaults/*.yml")]
    names = {name for each in defaults for name in each or {}}
    assert len(names) > 50
    assert unknown_names(names) == []
