# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's table of context parameters is the collection's own, row by row."""

from __future__ import annotations

import re

import yaml

from ansible_collections.onehpc.ondemand.plugins.module_utils.parameters import PARAMETERS
from tests.checks.environment import ROOT

ROW = re.compile(r"^\| `(ONEAPP_[A-Z_]+)` \| (.*) \|$", re.MULTILINE)


def rows():
    """Name -> the other cells of its row."""
    found = ROW.findall((ROOT / "README.md").read_text())
    assert len(dict(found)) == len(found)
    return {name: cells.split(" | ") for name, cells in found}


def test_table_has_each_parameter_once_in_order_and_its_variable():
    wanted = [(each.name, f"`{each.variable}`" if each.variable else "none") for each in PARAMETERS]
    assert [(name, cells[0]) for name, cells in rows().items()] == wanted


def test_each_row_says_meaning_default_and_file():
    for name, cells in rows().items():
        assert len(cells) == 4, name
        assert all(cell.strip() for cell in cells), name
        assert cells[3].startswith("none, ") or cells[3].startswith("`/"), name


def test_the_vm_template_hands_each_on():
    context = yaml.safe_load((ROOT / "playbooks" / "files" / "vm_template.yml").read_text())["CONTEXT"]
    handed_on = {name: value for name, value in context.items() if name.startswith("ONEAPP_")}
    assert handed_on == {each.name: f"${each.name}" for each in PARAMETERS}
