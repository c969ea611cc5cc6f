# SPDX-License-Identifier: GPL-3.0-or-later
"""Which change of the collection rebuilds which layer."""

from __future__ import annotations

import subprocess

import pytest

from tests.lab.image import bake
from tests.lab.image.base import base_digest
from tests.lab.image.release import BOOKWORM, TRIXIE


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A small collection in a git repository."""
    for name, text in {
        "galaxy.yml": "name: x\n",
        "playbooks/bake.yml": "tags: packages\n---\ntags: install\n",
        "roles/worker/tasks/packages.yml": 'name: "{{ worker_packages }}"\n',
        "roles/worker/tasks/main.yml": "[]\n",
        "roles/worker/defaults/main.yml": "worker_packages: [slurmd]\nworker_percent: 90\n",
        ".gitignore": "*.pyc\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=30)
    monkeypatch.setattr(bake, "ROOT", tmp_path)
    monkeypatch.setattr(bake, "BAKE", tmp_path / "playbooks/bake.yml")
    return tmp_path


def digests():
    return bake.packages_digest(), bake.collection_digest()


@pytest.mark.parametrize(
    ("file", "text", "packages_change", "collection_changes"),
    [
        ("roles/worker/tasks/main.yml", "# other\n[]\n", False, True),
        ("roles/worker/defaults/main.yml", "worker_packages: [slurmd]\nworker_percent: 80\n", False, True),
        ("roles/worker/defaults/main.yml", "worker_packages: [slurmd, gdb]\nworker_percent: 90\n", True, True),
        ("roles/worker/tasks/packages.yml", 'state: latest\nname: "{{ worker_packages }}"\n', True, True),
        ("playbooks/bake.yml", "tags: packages\n---\ntags: install\n# seal\n", False, True),
        ("playbooks/bake.yml", "other: play\ntags: packages\n---\ntags: install\n", True, True),
        ("plugins/modules/new.py", "pass\n", False, True),
        ("roles/worker/tasks/ignored.pyc", "x", False, False),
        ("molecule/x/molecule.yml", "x: 1\n", False, False),
    ],
)
def test_a_change_rebuilds_what_it_concerns(checkout, file, text, packages_change, collection_changes):
    packages, collection = digests()
    (checkout / file).parent.mkdir(parents=True, exist_ok=True)
    (checkout / file).write_text(text)
    new_packages, new_collection = digests()
    assert (new_packages != packages, new_collection != collection) == (packages_change, collection_changes)


def test_a_file_that_is_gone_changes_the_collection(checkout):
    subprocess.run(["git", "-C", str(checkout), "add", "."], check=True, timeout=30)
    before = bake.collection_digest()
    (checkout / "roles/worker/tasks/main.yml").unlink()
    assert bake.collection_digest() != before


def test_each_release_and_each_set_of_packages_has_a_base_of_its_own():
    bases = [base_digest(BOOKWORM), base_digest(TRIXIE), base_digest(TRIXIE, ["git"])]
    assert len(set(bases)) == len(bases)
