# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test of the newest core, on the Python of Debian 13."""

from __future__ import annotations

import shlex
import zipfile

import pytest

from tests.checks.environment import ROOT, VENV_BIN
from tests.gates.ansible_test import BOOTSTRAP_SOURCE, SANITY, UNITS, offer_pip, passed_units, sanity_tests
from tests.gates.command import output_of, worth_showing
from tests.gates.copies import copy_for_ansible_test
from tests.gates.pip_settings import lend, machine_pip_settings
from tests.lab.errors import LabError
from tests.lab.image.build import base_tree
from tests.lab.image.chroot import run_in_tree
from tests.lab.image.release import TRIXIE

NEWEST_CORE = ROOT / "tests" / "setup" / "newest_core.txt"
VENV = "/opt/newest-core"
COLLECTIONS = "root"
PYTHON = TRIXIE.python_version


@pytest.fixture(scope="module")
def in_debian_13(tmp_path_factory):
    """in_debian_13(argv, timeout_seconds): its output, run in the collection's folder with the newest core."""
    log = tmp_path_factory.mktemp("newest-core") / "log"
    with base_tree(TRIXIE) as tree:
        collection = copy_for_ansible_test(ROOT, tree / COLLECTIONS)
        lend(machine_pip_settings(), tree / "root", tree)

        def run(argv, timeout_seconds):
            environment = ["env", "-i", "HOME=/root", "LANG=C.UTF-8", f"PATH={VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
            script = f"cd {shlex.quote('/' + str(collection.relative_to(tree)))} && {shlex.join(argv)}"
            log.write_text("")
            try:
                run_in_tree(tree, [*environment, "sh", "-c", script], timeout_seconds, log)
            except LabError as error:
                raise AssertionError(f"{error}\n{worth_showing(log.read_text())}") from None
            return log.read_text()

        core = _download_core(tree / "root")
        with zipfile.ZipFile(core) as wheel:
            pip = offer_pip(tree / "root", wheel.read(BOOTSTRAP_SOURCE).decode())
        run(["python3", "-m", "venv", "--without-pip", VENV], 120)
        pip_program = f"/{pip.relative_to(tree)}/pip"
        run(["python", pip_program, "install", "--disable-pip-version-check", f"/{core.relative_to(tree)}"], 300)
        yield run


def _download_core(folder):
    """The wheel, for a Python that this machine does not have."""
    command = [str(VENV_BIN / "python"), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [f"--python-version={PYTHON}", "--dest", str(folder), "--requirement", str(NEWEST_CORE)]
    output_of(command, ROOT)
    (wheel,) = folder.glob("ansible_core-*.whl")
    return wheel


@pytest.fixture(scope="module")
def version(in_debian_13):
    shown = in_debian_13(["python", "-c", "import ansible; print('core', ansible.__version__)"], 60)
    return f"{shown.rpartition('core ')[2].strip()} on Python {PYTHON}"


def test_sanity(in_debian_13, version, passed):
    ran = sanity_tests(in_debian_13([*SANITY, "--python", PYTHON], 900))
    assert {"import", "pylint", "validate-modules"} <= set(ran)
    passed("ansible-test sanity", version, f"{len(ran)} tests, inside Debian 13")


def test_units(in_debian_13, version, passed):
    count = passed_units(in_debian_13([*UNITS, "--python", PYTHON], 900))
    assert count > 900
    passed("ansible-test units", version, f"{count} tests of the plugins, inside Debian 13")
