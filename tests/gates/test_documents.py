# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation, release notes and licences, as their own tools judge them."""

from __future__ import annotations

import re
from importlib.metadata import version

import yaml

from tests.checks.environment import ROOT, VENV_BIN
from tests.checks.plugin_code import plugin_files
from tests.gates.command import output_of

DOCUMENTED_KINDS = ("modules", "inventory", "filter", "lookup")


def test_documentation(checkout, passed):
    output_of([str(VENV_BIN / "antsibull-docs"), "lint-collection-docs", "--plugin-docs", "."], checkout)
    plugins = [path for kind in DOCUMENTED_KINDS for path in plugin_files(checkout, kind)]
    roles = list(checkout.glob("roles/*/meta/argument_specs.yml"))
    passed("antsibull-docs", version("antsibull-docs"), f"{len(plugins)} plugins, {len(roles)} roles")


def test_release_notes(checkout, passed):
    output_of([str(VENV_BIN / "antsibull-changelog"), "lint"], checkout)
    fragments = [yaml.safe_load(path.read_text()) for path in checkout.glob("changelogs/fragments/*.yml")]
    notes = sum(len(section) for fragment in fragments for section in fragment.values())
    assert notes
    passed("antsibull-changelog", version("antsibull-changelog"), f"{notes} notes in {len(fragments)} fragments")


def test_licences(passed):
    report = output_of([str(VENV_BIN / "reuse"), "lint"], ROOT)
    (licences,) = re.findall(r"(?m)^\* Used licenses: (.*)$", report)
    assert licences == "GPL-3.0-or-later"
    (with_licence, all_files) = re.search(r"Files with license information: (\d+) / (\d+)", report).groups()
    assert with_licence == all_files
    passed("REUSE", version("reuse"), f"{all_files} files with licence and copyright")
