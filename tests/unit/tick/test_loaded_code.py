# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runner has loaded before a tick, and when it knows that it is no longer what lies on disk."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_code import LoadedCode
from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_request import differing_settings

SETTLED = """
import os, sys
from ansible_collections.onehpc.ondemand.plugins.plugin_utils import warm_playbook
from ansible.utils.collection_loader import _collection_finder
warm_playbook.settle()
missing = [name for name in warm_playbook._LOADED_LATER if name not in sys.modules]
path = os.path.join(os.path.dirname(sys.modules["ansible"].__file__), "config", "ansible_builtin_runtime.yml")
parse = _collection_finder._meta_yml_to_dict
known = parse(open(path, "rb").read(), ("ansible.builtin", "runtime.yml"))
assert parse(b"plugin_routing: {}", ("ansible.builtin", "runtime.yml")) == {"plugin_routing": {}}
print(missing, parse.cache_info().hits, "plugin_routing" in known)
"""


def test_what_is_loaded_ahead_exists_and_is_remembered():
    told = subprocess.run([sys.executable, "-c", SETTLED], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[0] == "[] 1 True"


def edit(path):
    path.write_text("two\n")


def replace(path):
    other = path.with_name("other")
    other.write_text(path.read_text())
    os.replace(other, path)


def touch(path):
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("change", [edit, replace, touch, os.unlink])
def test_any_change_of_a_file_is_seen(tmp_path, change):
    path = tmp_path / "ansible.cfg"
    path.write_text("one\n")
    code = LoadedCode([str(path)])
    assert code.changed_file() is None
    change(path)
    assert code.changed_file() == str(path)


def test_a_file_that_comes_later_is_seen(tmp_path):
    code = LoadedCode([str(tmp_path / "ansible.cfg")])
    assert code.changed_file() is None
    (tmp_path / "ansible.cfg").write_text("")
    assert code.changed_file() is not None


@pytest.mark.parametrize(
    ("other", "names"),
    [
        ({}, []),
        ({"INVOCATION_ID": "2", "PATH": "/elsewhere"}, []),
        ({"ANSIBLE_CONFIG": "/elsewhere", "HOME": "/home"}, ["ANSIBLE_CONFIG", "HOME"]),
        ({"LC_ALL": "C", "PYTHONPATH": "/x"}, ["LC_ALL", "PYTHONPATH"]),
    ],
)
def test_settings_that_are_not_read_again(other, names):
    own = {"ANSIBLE_CONFIG": "/etc/onehpc/ansible.cfg", "HOME": "/root", "PATH": "/bin", "INVOCATION_ID": "1"}
    assert differing_settings(own, {**own, **other}) == names


def test_settings_that_are_missing_differ():
    assert differing_settings({"LANG": "C.UTF-8"}, {}) == ["LANG"]
