# SPDX-License-Identifier: GPL-3.0-or-later
"""`ansible-doc` shows each plugin, with its options, its examples and what it returns."""

from __future__ import annotations

import json
import subprocess

import pytest
import yaml

from tests.checks.environment import ROOT
from tests.checks.plugin_code import plugin_files

PLUGINS = [
    (kind, path.stem)
    for folder, kind in (
        ("modules", "module"),
        ("inventory", "inventory"),
        ("filter", "filter"),
        ("lookup", "lookup"),
        ("callback", "callback"),
    )
    for path in plugin_files(ROOT, folder)
    if path.stem != "__init__"
]

# A result with one of these says something about the task itself: a list under "skipped" makes it a skipped task.
RESERVED_RESULTS = {"failed", "results", "skip_reason", "skipped", "unreachable", "warnings"}


@pytest.fixture(scope="module")
def documentation():
    """Kind -> plugin name -> what ansible-doc says."""
    documents = {}
    for kind in {kind for kind, _name in PLUGINS}:
        names = [f"onehpc.ondemand.{name}" for of_kind, name in PLUGINS if of_kind == kind]
        shown = subprocess.run(
            ("ansible-doc", "--json", "--type", kind, *names), capture_output=True, text=True, timeout=120, check=False
        )
        assert shown.returncode == 0, shown.stderr
        documents[kind] = json.loads(shown.stdout)
    return documents


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_plugin_is_documented(documentation, kind, name):
    document = documentation[kind][f"onehpc.ondemand.{name}"]
    assert document["doc"]["short_description"]
    assert document["doc"]["description"]
    assert document["examples"]
    if kind == "module":
        assert document["return"]
        assert not document["return"].keys() & RESERVED_RESULTS
        attributes = document["doc"]["attributes"]
        assert attributes.keys() >= {"check_mode", "diff_mode", "platform"}
        assert attributes["check_mode"]["support"] == "full"
        assert attributes["platform"]["platforms"]


def test_the_module_defaults_group_has_every_module_that_speaks_with_onegate(documentation):
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())
    speaking = [
        name.rpartition(".")[2]
        for name, document in documentation["module"].items()
        if "action_group" in document["doc"]["attributes"]
    ]
    assert speaking
    assert runtime["action_groups"]["onegate"] == sorted(speaking)
