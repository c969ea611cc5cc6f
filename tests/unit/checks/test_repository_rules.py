# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule of tests/checks finds what it is for and lets pass what is fine."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.checks.argument_specs import default_names, specified_options
from tests.checks.foreign import foreign_words, machine_folders
from tests.checks.plugin_code import foreign_imports, syntax_error
from tests.checks.unchanged_tasks import hides_a_change, tasks


def test_folders_of_a_machine_are_those_that_say_something():
    found = machine_folders(Path("/srv/build/checkout"), Path("/root"), "/root/.tool/bin:/usr/bin:/root/.tool/shims")
    assert found == ["/root/.tool", "/srv/build", "/srv/build/checkout"]
    assert machine_folders(Path("/root/checkout"), Path("/root"), "/usr/bin") == ["/root/checkout"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("cd /srv/build && make", ["/srv/build"]),
        ("path: /srv/build/x", ["/srv/build"]),
        ("path: /srv/builder", []),
        ("path: other/srv/build", []),
        ("http://pkg.example.net/simple", ["pkg.example.net"]),
        ("http://other-pkg.example.net/simple", []),
        ("-----BEGIN RSA " + "PRIVATE KEY-----\n" + "A" * 64, ["private key"]),
        ("token: ghp_" + "a1" * 18, ["access token"]),
        ("url: http://user:" + "password@host.example", ["password in an address"]),
        ("url: http://{{ user }}:{{ word }}@host.example", []),
        ("hash: $6$" + "ab" * 20, ["password hash"]),
        ("plain text", []),
    ],
)
def test_foreign_words(content, found):
    assert foreign_words(content, ["/srv/build"], ["pkg.example.net"]) == found


def test_role_variables_of_defaults_and_specs(tmp_path):
    (tmp_path / "defaults" / "main").mkdir(parents=True)
    (tmp_path / "defaults" / "main" / "a.yml").write_text("x_one: 1\n")
    (tmp_path / "defaults" / "main" / "b.yml").write_text("---\n")
    (tmp_path / "meta").mkdir()
    specs = {"argument_specs": {"main": {"options": {"x_two": {"type": "int"}}}, "other": {}}}
    (tmp_path / "meta" / "argument_specs.yml").write_text(yaml.safe_dump(specs))
    assert default_names(tmp_path) == {"x_one"}
    assert specified_options(tmp_path) == {"x_two": {"type": "int"}}


def test_a_role_without_specs_has_no_options(tmp_path):
    assert specified_options(tmp_path) == {}


@pytest.mark.parametrize(
    ("source", "complains"),
    [("x = 1\n", False), ("match x:\n    case 1:\n        pass\n", True), ("if (y := 1): pass\n", False)],
)
def test_grammar_of_the_oldest_python(source, complains):
    assert (syntax_error(source) is not None) is complains


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import json, http.client\nfrom urllib.parse import quote\n", []),
        ("from ansible_collections.onehpc.ondemand.plugins.module_utils.x import y\n", []),
        ("from ansible_collections.onehpc.ondemand.plugins.module_utils import x\n", []),
        ("from ansible.module_utils.basic import AnsibleModule\n", ["ansible.module_utils.basic"]),
        ("def late():\n    import yaml\n", ["yaml"]),
        ("from ansible_collections.ansible.posix.plugins import z\n", ["ansible_collections.ansible.posix.plugins"]),
        ("from .near import z\n", [".near"]),
    ],
)
def test_imports_beyond_the_standard_library(source, names):
    assert foreign_imports(source) == names


@pytest.mark.parametrize(
    ("task", "hides"),
    [
        ({"ansible.builtin.command": "scontrol ping", "changed_when": False}, False),
        ({"ansible.builtin.command": {"cmd": "/usr/sbin/exportfs -s"}, "changed_when": False}, False),
        ({"ansible.builtin.command": {"argv": ["systemctl", "is-active", "munge"]}, "changed_when": False}, False),
        ({"ansible.builtin.command": {"argv": ["systemctl", "restart", "munge"]}, "changed_when": False}, True),
        ({"ansible.builtin.command": {"argv": ["exportfs", "-ra"]}, "changed_when": False}, True),
        ({"ansible.builtin.command": "testing things", "changed_when": False}, True),
        ({"ansible.builtin.template": {"src": "a"}, "changed_when": False}, True),
        ({"ansible.builtin.template": {"src": "a"}}, False),
        ({"ansible.builtin.command": "scontrol reconfigure", "changed_when": "x.rc == 0"}, False),
        ({"ansible.builtin.debug": {"msg": "a"}, "changed_when": False}, False),
        ({"ansible.builtin.command": "tar -cf a b", "changed_when": False, "delegate_to": "localhost"}, False),
    ],
)
def test_hidden_changes(task, hides):
    assert hides_a_change(task) is hides


def test_tasks_inside_plays_and_blocks_are_found(tmp_path):
    playbook = """
- hosts: all
  pre_tasks: [{name: a}]
  tasks:
    - name: b
      block: [{name: c}]
      rescue: [{name: d}]
      always: [{name: e, vars: {x: !unsafe "{{ y }}"}}]
"""
    (tmp_path / "play.yml").write_text(playbook)
    names = sorted(task["name"] for task in tasks(tmp_path / "play.yml") if "name" in task)
    assert names == list("abcde")
