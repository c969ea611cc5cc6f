# SPDX-License-Identifier: GPL-3.0-or-later
"""A wrong value is refused wherever it comes from, templates resolved."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.onehpc.ondemand.plugins.plugin_utils.role_variables import role_options, wrong_types

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


@pytest.mark.parametrize(
    ("name", "value", "shown", "expected"),
    [
        ("storage_nfs_lease_seconds", "abc", "'abc'", "a whole number"),
        ("storage_nfs_lease_seconds", 1.5, "1.5", "a whole number"),
        ("portal_slurm_conf", ["a"], "['a']", "a dictionary"),
        ("storage_home_clients", {"a": 1}, "{'a': 1}", "a list of str"),
    ],
)
def test_wrong_type_of_any_role(tmp_path, name, value, shown, expected):
    """Also of a role that this host does not have: it is written for all."""
    assert f"{name} is {shown}, expected {expected}" in told(tmp_path, "-e", json.dumps({name: value}))


def test_value_that_cannot_be_resolved_yet_is_left_to_the_role(tmp_path):
    assert '"msg": "none"' in told(tmp_path, "-e", '{"storage_nfs_lease_seconds": "{{ ansible_facts.no_such_fact }}"}')


def test_every_default_is_of_its_own_type():
    """A default that is a template is of the type that its role resolves it to."""
    options = role_options()
    defaults = {name: option["default"] for name, option in options.items() if "default" in option}
    plain = {name: value for name, value in defaults.items() if "{{" not in str(value)}
    assert len(plain) > 40
    assert wrong_types(plain, options) == []
