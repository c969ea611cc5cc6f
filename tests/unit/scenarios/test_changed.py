# SPDX-License-Identifier: GPL-3.0-or-later
"""Which scenarios the latest commits concern, in whole and shallow clones and without git."""

from __future__ import annotations

import subprocess

import pytest

from tests.checks.environment import ROOT
from tests.scenarios.changed import ALL, COMMITS, FILES, changed_files, changed_scenarios

SCENARIOS = ["storage", "portal", "worker"]


def git(folder, *arguments):
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *identity, *arguments), cwd=folder, check=True, capture_output=True, timeout=60)


def commit(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.read_text() + "more\n" if path.exists() else "")
    git(folder, "add", "--all")
    git(folder, "commit", "--allow-empty", "--message", "change")


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "--initial-branch=main")
    return folder


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("molecule/portal/verify.yml", ["portal"]),
        ("roles/storage/tasks/main.yml", ["storage"]),
        ("plugins/module_utils/slurm_nodes.py", ["portal", "worker"]),
        ("roles/common/tasks/begin.yml", SCENARIOS),
        ("molecule/config.yml", SCENARIOS),
        ("README.md", []),
        ("molecule/portals.md", []),
    ],
)
def test_a_scenario_is_concerned_by_its_files(checkout, changed, expected):
    commit(checkout, changed)
    assert changed_scenarios(checkout, SCENARIOS) == expected


def test_only_the_latest_commits_count(checkout):
    commit(checkout, "roles/storage/tasks/main.yml")
    for _ in range(COMMITS - 1):
        commit(checkout)
    assert changed_scenarios(checkout, SCENARIOS) == ["storage"]
    commit(checkout)
    assert changed_scenarios(checkout, SCENARIOS) == []


def test_what_a_merge_brings_counts(checkout):
    commit(checkout, "README.md")
    git(checkout, "checkout", "-b", "side")
    commit(checkout, "roles/portal/tasks/main.yml")
    git(checkout, "checkout", "main")
    commit(checkout, "README.md")
    git(checkout, "merge", "--no-ff", "--message", "merge", "side")
    assert changed_scenarios(checkout, SCENARIOS) == ["portal"]


def test_a_shallow_clone_counts_the_files_of_its_oldest_commit(checkout, tmp_path):
    commit(checkout, "roles/storage/tasks/main.yml")
    commit(checkout, "README.md")
    git(tmp_path, "clone", "--depth=1", f"file://{checkout}", "shallow")
    assert changed_files(tmp_path / "shallow") == {"roles/storage/tasks/main.yml", "README.md"}


def test_without_git_every_scenario_is_concerned(tmp_path):
    assert changed_scenarios(tmp_path, SCENARIOS) == SCENARIOS


@pytest.mark.parametrize("prefix", sorted({*ALL, *(prefix for files in FILES.values() for prefix in files)}))
def test_each_path_of_the_table_names_something(prefix):
    assert list(ROOT.glob(f"{prefix}*"))
