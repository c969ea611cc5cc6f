# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool's ticks in process over a local connection, as shipped modules over any other: with the same results."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.unit.plugins.action.test_state_export import OTHER_CONNECTION
from tests.unit.plugins.onegate_double import TOKEN
from tests.unit.plugins.pool_service import OWN, PoolService

PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Tell what would be done
      {module}: "{{{{ arguments }}}}"
      check_mode: true
      register: told
      ignore_errors: true
    - name: Do it
      {module}: "{{{{ arguments }}}}"
      register: done
      ignore_errors: true
    - name: Do it again
      {module}: "{{{{ arguments }}}}"
      register: repeated
      ignore_errors: true
    - name: Keep what came of it
      ansible.builtin.copy:
        content: "{{{{ [told, done, repeated] | to_json }}}}"
        dest: "{{{{ outcome_file }}}}"
"""


@pytest.fixture
def pool(onegate, connection, tmp_path):
    service = PoolService(onegate, connection, tmp_path)
    service.directory = tmp_path
    (tmp_path / "connection_plugins").mkdir()
    (tmp_path / "connection_plugins" / "other.py").write_text(OTHER_CONNECTION)
    return service


def play(pool, module, connection_name, **arguments):
    """Results of the three tasks, the calls of Slurm and OneGate, and whether the module was shipped."""
    directory = pool.directory
    kept, outcome = directory / "kept", directory / "outcome.json"
    shutil.rmtree(kept, ignore_errors=True)
    outcome.unlink(missing_ok=True)
    (directory / "play.yml").write_text(PLAYBOOK.format(module=f"onehpc.ondemand.{module}"))
    extra = {
        "arguments": {**pool.arguments, **arguments},
        "outcome_file": str(outcome),
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }
    settings = {"ANSIBLE_REMOTE_TMP": str(kept), "ANSIBLE_KEEP_REMOTE_FILES": "1", "ANSIBLE_PIPELINING": "0"}
    ran = subprocess.run(
        ["ansible-playbook", "-vvv", "-i", "host,", "-c", connection_name, "-e", json.dumps(extra), "play.yml"],
        cwd=directory,
        env={**os.environ, **pool.slurm.environment, **settings, "HOME": str(directory)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert outcome.exists(), ran.stdout + ran.stderr
    assert TOKEN not in ran.stdout + ran.stderr
    raw = json.loads(outcome.read_text())
    for result in raw:
        assert f"onehpc.ondemand.{module}: {result['why']}" in ran.stdout if "why" in result else result["failed"]
    results = [without_times(result) for result in raw]
    calls = pool.slurm.calls(), pool.onegate.calls()
    pool.onegate.requests.clear()
    return results, calls, list(kept.rglob(f"AnsiballZ_{module}.py")) != []


def without_times(result):
    text = re.sub(r"\d+ s\b", "some s", json.dumps(result))
    return json.loads(re.sub(r'("IDLE_SECONDS": )\d+', r"\1 0", text))


def both_ways(pool, prepare, module, **arguments):
    """What the three tasks gave, once it is the same both ways."""
    outcomes = {}
    for name in ("local", "other"):
        prepare()
        results, calls, shipped = play(pool, module, name, **arguments)
        assert shipped is (name == "other")
        outcomes[name] = results, calls
    assert outcomes["local"] == outcomes["other"]
    return outcomes["local"]


def test_report(pool):
    def prepare():
        pool.list_workers(2, 3, 1)
        pool.idle("22.05")
        pool.memory.unlink(missing_ok=True)

    (told, done, repeated), (slurm_calls, onegate_calls) = both_ways(
        pool, prepare, "pool_report", **pool.report_arguments
    )
    assert told == done
    assert done["change"] == {"kind": "drain", "node": OWN, "reason": "onehpc:policies:idle"}
    assert (repeated["figures"]["SLURM_PENDING"], repeated["figures"]["OLDEST_IDLE"]) == (0, 1)
    assert sum("update" in call for call in slurm_calls) == 1
    assert onegate_calls.count("PUT /vm") == 2


def test_report_that_fails(pool):
    def prepare():
        pool.list_workers(1, 3)

    (_told, done, repeated), (_slurm_calls, onegate_calls) = both_ways(
        pool, prepare, "pool_report", **pool.report_arguments
    )
    assert done == repeated
    assert done["failed"] is True
    assert "does not list this VM (2)" in done["msg"]
    assert onegate_calls.count("PUT /vm") == 2


def test_reconcile(pool):
    def prepare():
        pool.list_workers(1, 3, own_role="portal")
        pool.idle("22.05")
        pool.memory.unlink(missing_ok=True)
        pool.slurm.rewrite_node("w3", "State=IDLE", "State=DOWN")
        pool.list_workers(1, own_role="portal")

    (told, done, repeated), (slurm_calls, _onegate_calls) = both_ways(
        pool, prepare, "pool_reconcile", node_prefix="w", memory_path=str(pool.memory)
    )
    assert told == done
    assert [placeholder["name"] for placeholder in done["placeholders"]] == ["ph-worker"]
    assert [skipped["node"] for skipped in repeated["kept"]] == ["w3"]
    assert repeated["changed"] is False
    assert sum("create" in call for call in slurm_calls) == 1


def test_leave(pool):
    def prepare():
        pool.list_workers(2, 3, 1)
        pool.idle("22.05")

    (told, done, repeated), (slurm_calls, onegate_calls) = both_ways(pool, prepare, "pool_leave", node_name=OWN)
    assert told == done
    assert (done["deleted"], repeated["deleted"]) == (True, False)
    assert sum("delete" in call for call in slurm_calls) == 1
    assert onegate_calls == ["PUT /vm"] * 2


@pytest.mark.parametrize("module", ["pool_report", "pool_reconcile", "pool_leave"])
def test_missing_arguments_are_refused_in_process_too(pool, module):
    results, _calls, shipped = play(pool, module, "local")
    assert shipped is False
    assert all(result["failed"] and "node_" in result["msg"] for result in results)
