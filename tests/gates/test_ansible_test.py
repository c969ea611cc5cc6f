# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test of the core that the hosts get, on this machine's Python."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

import ansible_test
import pytest

from tests.checks.environment import ROOT, VENV_BIN
from tests.gates.ansible_test import BOOTSTRAP_SOURCE, SANITY, UNITS, offer_pip, passed_units, sanity_tests
from tests.gates.command import output_of
from tests.gates.copies import copy_for_ansible_test
from tests.gates.pip_settings import lend, machine_pip_settings

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSION = f"{version('ansible-core')} on Python {PYTHON}"
SITE_PACKAGES = Path(ansible_test.__file__).parents[1]
# Kept, since ansible-test builds an environment for each of its tests there.
HOME = ROOT / ".cache" / "ansible-test"


@pytest.fixture(scope="module")
def ansible_test_run(tmp_path_factory):
    """ansible_test_run(argv): the output."""
    collection = copy_for_ansible_test(ROOT, tmp_path_factory.mktemp("collections"))
    lend(machine_pip_settings(), HOME)
    offer_pip(HOME, (SITE_PACKAGES / BOOTSTRAP_SOURCE).read_text())
    environment = {"HOME": str(HOME), "LANG": "C.UTF-8", "PATH": f"{VENV_BIN}{os.pathsep}{os.environ['PATH']}"}
    return lambda argv: output_of([*argv, "--python", PYTHON], collection, environment, 900)


def test_sanity(ansible_test_run, passed):
    ran = sanity_tests(ansible_test_run(SANITY))
    assert {"import", "pylint", "shellcheck", "validate-modules"} <= set(ran)
    passed("ansible-test sanity", VERSION, f"{len(ran)} tests")


def test_units(ansible_test_run, passed):
    count = passed_units(ansible_test_run(UNITS))
    assert count > 900
    passed("ansible-test units", VERSION, f"{count} tests of the plugins")
