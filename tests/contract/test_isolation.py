# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator knows its rules, not the recordings."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.recorded import RECORDINGS
from tests.opennebula.client import Client

TESTS = Path(__file__).parents[1]
SOURCES = sorted((TESTS / "opennebula").rglob("*.py"))


def names_recordings(source: str) -> list[str]:
    """Words by which a source could get at a recording."""
    files = "|".join(re.escape(path.name) for path in RECORDINGS.iterdir())
    return re.findall(rf"\brecordings\b|\btests\.contract\b|\btests[./]unit\b|\bsamples\b|{files}", source)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_source_of_the_simulator_names_the_recordings(path: Path) -> None:
    assert names_recordings(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        'open("tests/contract/recordings/onegate-vm.json")',
        "from tests.contract.recorded import recording",
        'Path(folder, "onegate-put-cases.json")',
        "import tests.unit.opennebula.scenario",
    ],
)
def test_a_source_that_names_them_is_found(source: str) -> None:
    assert names_recordings(source)


def test_the_simulator_works_where_there_are_none(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TESTS / "opennebula", tmp_path / "tests" / "opennebula", ignore=ignore)
    shutil.copy(TESTS / "__init__.py", tmp_path / "tests")
    command = [sys.executable, "-P", "-m", "tests.opennebula", "serve", "--run-dir", "run"]
    command += ["--onegate-port", "0", "--oneflow-port", "0", "--oned-port", "0"]
    process = subprocess.Popen(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    try:
        client = Client(tmp_path / "run")
        client.wait_ready(30)
        client.create_vm(client.create_vm_template({"CONTEXT": {"TOKEN": "YES"}}), "solo")
        assert client.vm(0)["NAME"] == "solo"
        client.shutdown(30)
        assert process.wait(10) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
