# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates' table, and the collection in the forms in which they take it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.checks.environment import COLLECTIONS_PATH, ROOT, VENV_BIN
from tests.checks.repository import files
from tests.gates.command import output_of
from tests.gates.copies import copy_files
from tests.gates.table import GateResult, table

RESULTS = pytest.StashKey[list[GateResult]]()


def pytest_configure(config):
    config.stash[RESULTS] = []


def pytest_terminal_summary(terminalreporter, config):
    for line in table(config.stash[RESULTS]):
        terminalreporter.write_line(line)


@pytest.fixture
def passed(request):
    """passed(gate, version, counted): a line of the table."""

    def add(gate: str, version: str, counted: str) -> None:
        request.config.stash[RESULTS].append(GateResult(gate, version, counted))

    return add


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A clean copy of this checkout, without what git ignores."""
    target = tmp_path_factory.mktemp("checkout") / "ondemand"
    copy_files(ROOT, files(ROOT, with_symlinks=True), target)
    return target


@pytest.fixture(scope="session")
def tarball(checkout, tmp_path_factory):
    """The built collection."""
    folder = tmp_path_factory.mktemp("built")
    output_of([str(VENV_BIN / "ansible-galaxy"), "collection", "build", "--output-path", str(folder)], checkout)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory):
    """A collections path with what galaxy.yml depends on, and nothing else."""
    path = tmp_path_factory.mktemp("dependencies")
    for name in yaml.safe_load((ROOT / "galaxy.yml").read_text())["dependencies"]:
        folder = Path("ansible_collections", *name.split("."))
        source = COLLECTIONS_PATH / folder
        copy_files(source, [file.relative_to(source) for file in source.rglob("*") if file.is_file()], path / folder)
    return path
