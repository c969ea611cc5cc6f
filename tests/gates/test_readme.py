# SPDX-License-Identifier: GPL-3.0-or-later
"""A reader types what the README says, block by block."""

from __future__ import annotations

import os
import re

import yaml

from tests.checks.environment import ROOT, VENV_BIN
from tests.gates.command import output_of
from tests.gates.readme import blocks, commands

# Languages of blocks that are typed into a shell. The others are inventories.
SHELLS = {"console", "sh", "shell"}
INVENTORY = "yaml"
# What cannot be run here as it stands -> what is run in its place, the nearest that needs no cloud, no Galaxy and no
# second run of these very tests. $DEPENDENCIES: a collections path with what galaxy.yml depends on.
SUBSTITUTES = {
    "make demo": "make --dry-run demo",
    "make test": "make --dry-run test",
    "ansible-galaxy collection install -r requirements.yml": (
        'mkdir -p ~/.ansible && cp -r "$DEPENDENCIES" ~/.ansible/collections'
        " && ansible-galaxy collection install --offline -r requirements.yml"
    ),
    "ansible-playbook -i 'image.example.org,' -u root onehpc.ondemand.bake": (
        "ansible-playbook --syntax-check -i 'image.example.org,' -u root onehpc.ondemand.bake"
    ),
}


def test_every_inventory_sets_variables_that_a_role_has():
    found = [block for block in blocks((ROOT / "README.md").read_text()) if block.language == INVENTORY]
    assert found
    defaults = [yaml.safe_load(path.read_text()) for path in ROOT.glob("roles/*/defaults/main.yml")]
    known = {name for each in defaults for name in each}
    assert {name for block in found for name in yaml.safe_load(block.text)["all"]["vars"]} <= known


def test_every_block_runs(checkout, dependencies, tmp_path, passed):
    found = blocks((ROOT / "README.md").read_text())
    assert found
    assert {block.language for block in found} <= {*SHELLS, INVENTORY}
    typed = [command for block in found if block.language in SHELLS for command in commands(block)]
    assert sorted(SUBSTITUTES.keys() - set(typed)) == [], "these are no longer in the README"
    environment = {
        "DEPENDENCIES": str(dependencies),
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PATH": f"{VENV_BIN}{os.pathsep}{os.environ['PATH']}",
    }
    for command in typed:
        run = SUBSTITUTES.get(command, command)
        output_of(["bash", "-euo", "pipefail", "-c", run], checkout, environment)
    (version,) = re.findall(r"(?m)^version: (\S+)$", (ROOT / "galaxy.yml").read_text())
    replaced = sum(command in SUBSTITUTES for command in typed)
    passed("README", version, f"{len(found)} blocks, {len(typed)} commands, {replaced} of them by a substitute")
