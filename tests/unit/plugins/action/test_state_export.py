# SPDX-License-Identifier: GPL-3.0-or-later
"""In process over a local connection, as a shipped module over any other: with the same result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.unit.plugins.nfs_server_double import NfsServerDouble
from tests.unit.plugins.onegate_double import service_body, vm_body

PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - &export
      name: Tell what would be done
      onehpc.ondemand.state_export: "{{ arguments }}"
      environment: "{{ environment_of_the_task }}"
      check_mode: true
      register: told
      ignore_errors: true
    - <<: *export
      name: Do it
      check_mode: false
      register: done
    - <<: *export
      name: Do it again
      check_mode: false
      register: repeated
    - name: Keep what came of it
      ansible.builtin.copy:
        content: "{{ [told, done, repeated] | to_json }}"
        dest: "{{ outcome_file }}"
"""
# Runs everything on this host as the local connection does, but is not the local connection.
OTHER_CONNECTION = '''\
DOCUMENTATION = """
name: other
short_description: like local
description: [like local]
author: onehpc.ondemand contributors (@onehpc)
extends_documentation_fragment: [connection_pipelining]
options: {}
"""
from ansible.plugins.connection.local import Connection as Local


class Connection(Local):
    transport = "other"
'''


@pytest.fixture
def nfs(tmp_path):
    folder = tmp_path / "nfs"
    folder.mkdir()
    return NfsServerDouble(folder)


@pytest.fixture
def play(tmp_path, connection, nfs):
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    (tmp_path / "connection_plugins").mkdir()
    (tmp_path / "connection_plugins" / "other.py").write_text(OTHER_CONNECTION)
    outcome = tmp_path / "outcome.json"

    def play_once(connection_name, environment=None, **changes):
        """([told, done, repeated], whether the module was shipped); an option changed to None is left out."""
        arguments = dict(connection, **nfs.options, compute_network="192.0.2.0/24")
        arguments.update(changes)
        extra = {
            "arguments": {name: value for name, value in arguments.items() if value is not None},
            "environment_of_the_task": environment or {},
            "outcome_file": str(outcome),
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        }
        kept = tmp_path / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        settings = {"ANSIBLE_REMOTE_TMP": str(kept), "ANSIBLE_KEEP_REMOTE_FILES": "1", "ANSIBLE_PIPELINING": "0"}
        done = subprocess.run(
            ["ansible-playbook", "-i", "host,", "-c", connection_name, "-e", json.dumps(extra), "play.yml"],
            cwd=tmp_path,
            env={**os.environ, **nfs.environment, **settings, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert outcome.exists(), done.stdout + done.stderr
        results = json.loads(outcome.read_text())
        outcome.unlink()
        return results, list(kept.rglob("AnsiballZ_state_export.py")) != []

    return play_once


def replace_portal(onegate):
    onegate.service = service_body(portal=[2, 9])
    onegate.vms[9] = vm_body(9, "portal", address="192.0.2.19")


def test_both_ways_give_the_same(onegate, nfs, play):
    results = {}
    for name in ("local", "other"):
        onegate.service = service_body(portal=[2])
        nfs.exports_file.unlink(missing_ok=True)
        nfs.etab.unlink(missing_ok=True)
        nfs.calls()
        first, first_shipped = play(name)
        replace_portal(onegate)
        onegate.fault("status", status=401, body="Not authorized", times=1)
        second, second_shipped = play(name)
        assert first_shipped is second_shipped is (name == "other")
        results[name] = first + second, nfs.calls()
    assert results["local"] == results["other"]
    (told, done, repeated, refused, moved, repeated_again), calls = results["local"]
    assert told == done
    assert (done["changed"], done["portal_address"]) == (True, "192.0.2.12")
    assert refused["failed"] is True
    assert "answered 401 to GET /service" in refused["msg"]
    assert (moved["changed"], moved["removed"]) == (True, ["192.0.2.12"])
    assert repeated["changed"] is repeated_again["changed"] is False
    assert calls == ["-ra", "-u 192.0.2.12:/export/slurm", "-ra"]


def test_wrong_arguments_are_refused_in_process_too(play):
    results, shipped = play("local", compute_network=None)
    assert shipped is False
    assert all(result["failed"] and "compute_network" in result["msg"] for result in results)


def test_environment_of_the_task_needs_the_module(play):
    _results, shipped = play("local", environment={"LANG": "C"})
    assert shipped is True
