# SPDX-License-Identifier: GPL-3.0-or-later
"""The built collection: as Galaxy looks at it, and as somebody uses it who installed it."""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile

import pytest

from tests.checks.environment import ROOT, VENV_BIN
from tests.gates.command import output_of
from tests.gates.environments import environment_of, version_in
from tests.unit.plugins.onegate_double import TOKEN, OneGateDouble

NAME = "onehpc.ondemand"
IMPORTER = ROOT / "tests" / "setup" / "galaxy_importer.txt"
# ansible-test has its own gates.
IMPORTER_SETTINGS = "[galaxy-importer]\nRUN_ANSIBLE_TEST = False\nCHECK_REQUIRED_TAGS = True\n"
# Plugin kinds that ansible-doc knows, by their folder.
KINDS = {"modules": "module", "inventory": "inventory", "filter": "filter", "lookup": "lookup", "callback": "callback"}
PLAY = """\
- name: Publish through the group of the modules that speak with OneGate
  hosts: localhost
  gather_facts: false
  module_defaults:
    group/onehpc.ondemand.onegate: "{{ onegate }}"
  tasks:
    - name: Report
      onehpc.ondemand.onegate_vm:
        attributes: {READY: "NO"}
      register: reported
    - name: Read
      onehpc.ondemand.onegate_info:
      register: read
    - name: Compare
      ansible.builtin.assert:
        that: [reported is changed, read.vm.user_template.READY == "NO"]
"""


@pytest.fixture(scope="module")
def installed(tarball, dependencies, tmp_path_factory):
    """use(*argv): output of a program of Ansible for a user who has installed the tarball and its dependencies only."""
    home = tmp_path_factory.mktemp("user")
    path = f"{home / 'collections'}{os.pathsep}{dependencies}"
    environment = {
        "ANSIBLE_COLLECTIONS_PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": f"{VENV_BIN}{os.pathsep}{os.environ['PATH']}",
    }

    def use(*argv):
        return output_of(argv, home, environment)

    target = str(home / "collections")
    use("ansible-galaxy", "collection", "install", str(tarball), "--offline", "--collections-path", target)
    return use


def contents(tarball):
    """Names of all files of the collection."""
    with tarfile.open(tarball) as archive:
        return archive.getnames()


def test_importer(tarball, dependencies, tmp_path, passed):
    tools = environment_of(IMPORTER)
    (tmp_path / "importer.cfg").write_text(IMPORTER_SETTINGS)
    environment = {
        "GALAXY_IMPORTER_CONFIG": str(tmp_path / "importer.cfg"),
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        # It sets the collections path to its own folder; Ansible looks for collections among Python's modules too.
        "PYTHONPATH": str(dependencies),
    }
    report = output_of([str(tools / "python"), "-m", "galaxy_importer.main", str(tarball)], tmp_path, environment)
    complaints = re.findall(r"(?m)^(?:WARNING|ERROR).*", report)
    assert complaints == [], report
    loaded = re.findall(r"(?m)^Loading (\w+) (\S+)", report)
    assert {"module", "role", "playbook"} <= {kind for kind, _name in loaded}
    counted = f"{len(loaded)} pieces of {len(contents(tarball))} files, no warning"
    passed("galaxy-importer", version_in(IMPORTER, "galaxy-importer"), counted)


def test_tarball_holds_the_collection_alone(tarball):
    names = contents(tarball)
    assert {"MANIFEST.json", "README.md", "COPYING", "meta/runtime.yml"} <= set(names)
    beside = ("tests", "molecule", ".", "Makefile")
    assert [name for name in names if name.startswith(beside) and not name.startswith("./")] == []


def test_installed_and_used(installed, tarball, tmp_path, passed):
    names = contents(tarball)
    plugins = 0
    for folder, kind in KINDS.items():
        found = re.findall(rf"(?m)^plugins/{folder}/(\w+)\.py$", "\n".join(names))
        if found:
            shown = json.loads(
                installed("ansible-doc", "--json", "--type", kind, *(f"{NAME}.{name}" for name in found))
            )
            assert len(shown) == len(found)
            plugins += len(found)
    roles = sorted({name.split("/")[1] for name in names if name.startswith("roles/") and name.count("/") > 1})
    for role in roles:
        assert f"{NAME}.{role}" in json.loads(installed("ansible-doc", "--json", "--type", "role", f"{NAME}.{role}"))
    playbooks = re.findall(r"(?m)^playbooks/(\w+)\.yml$", "\n".join(names))
    for playbook in playbooks:
        installed("ansible-playbook", "--inventory", "image,", "--syntax-check", f"{NAME}.{playbook}")
    assert plugins and roles and playbooks
    counted = f"{plugins} plugins, {len(roles)} roles shown; {len(playbooks)} playbooks checked; 2 modules run"
    _run_modules(installed, tmp_path)
    passed("installed offline and used", _version(tarball), counted)


def _run_modules(installed, folder):
    onegate = OneGateDouble()
    try:
        one_env = folder / "one_env"
        one_env.write_text(f'export TOKENTXT="{TOKEN}"\nexport VMID="2"\n')
        options = {"endpoint": onegate.endpoint, "one_env": str(one_env), "endpoint_file": str(folder / "endpoint")}
        (folder / "play.yml").write_text(PLAY)
        extra = json.dumps({"onegate": options, "ansible_python_interpreter": sys.executable})
        assert "failed=0" in installed("ansible-playbook", "--extra-vars", extra, str(folder / "play.yml"))
        assert onegate.user_template()["READY"] == "NO"
    finally:
        onegate.close()


def _version(tarball):
    return re.search(r"-([0-9.]+)\.tar\.gz$", tarball.name).group(1)
