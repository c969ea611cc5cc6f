# SPDX-License-Identifier: GPL-3.0-or-later
"""A wrong value is refused wherever it comes from, templates resolved."""

from __future__ import annotations

import subprocess

PLAY = """\
- hosts: localhost
  gather_facts: false
  vars:
    minutes: 2
    common_pool_idle_seconds: "{{ minutes * 60 }}"
  tasks:
    - ansible.builtin.debug:
        msg: "{{ query('onehpc.ondemand.refused_variables') | join('; ') or 'none' }}"
"""


def told(tmp_path, *extra):
    (tmp_path / "play.yml").write_text(PLAY)
    argv = ["ansible-playbook", "-i", "localhost,", "play.yml", *extra]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_good_values(tmp_path):
    assert '"msg": "none"' in told(tmp_path)


def test_wrong_value_through_a_template(tmp_path):
    said = told(tmp_path, "-e", '{"minutes": 1.5}')
    expected = "expected a whole number of seconds"
    assert f"common_pool_idle_seconds (ONEAPP_WORKER_IDLE_SECONDS) is '90.0', {expected}" in said
