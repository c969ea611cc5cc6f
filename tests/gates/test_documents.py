# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation, release notes and licences, as their own tools judge them."""

from __future__ import annotations

import os
import re

import pytest
import yaml

from tests.checks.environment import ROOT, tool_environment
from tests.checks.plugin_code import plugin_files
from tests.gates.command import output_of
from tests.gates.environments import environment_of, version_in

REQUIREMENTS = ROOT / "tests" / "setup" / "documents.txt"
DOCUMENTED_KINDS = ("modules", "inventory", "filter", "lookup")


@pytest.fixture(scope="module")
def run():
    """run(cwd, *argv): output of one of these tools, which find Ansible beside them."""
    tools = environment_of(REQUIREMENTS)
    environment = tool_environment()
    environment["PATH"] += f"{os.pathsep}{tools}"
    return lambda cwd, *argv: output_of(argv, cwd, environment)


def test_documentation(run, checkout, passed):
    run(checkout, "antsibull-docs", "lint-collection-docs", "--plugin-docs", ".")
    plugins = [path for kind in DOCUMENTED_KINDS for path in plugin_files(checkout, kind)]
    roles = list(checkout.glob("roles/*/meta/argument_specs.yml"))
    passed("antsibull-docs", version_in(REQUIREMENTS, "antsibull-docs"), f"{len(plugins)} plugins, {len(roles)} roles")


def test_release_notes(run, checkout, passed):
    run(checkout, "antsibull-changelog", "lint")
    fragments = [yaml.safe_load(path.read_text()) for path in checkout.glob("changelogs/fragments/*.yml")]
    notes = sum(len(section) for fragment in fragments for section in fragment.values())
    assert notes
    passed(
        "antsibull-changelog",
        version_in(REQUIREMENTS, "antsibull-changelog"),
        f"{notes} notes in {len(fragments)} fragments",
    )


def test_licences(run, passed):
    report = run(ROOT, "reuse", "lint")
    (licences,) = re.findall(r"(?m)^\* Used licenses: (.*)$", report)
    assert licences == "GPL-3.0-or-later"
    (with_licence, all_files) = re.search(r"Files with license information: (\d+) / (\d+)", report).groups()
    assert with_licence == all_files
    passed("REUSE", version_in(REQUIREMENTS, "reuse"), f"{all_files} files with licence and copyright")
