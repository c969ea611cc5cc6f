# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual environments of tools that do not live in the tests' own. They are built when a gate needs them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.checks.environment import ROOT
from tests.gates.command import output_of


def environment_of(requirements: Path) -> Path:
    """bin folder of an environment with these requirements; built once for each state of their file."""
    folder = ROOT / ".cache" / "environments" / requirements.stem
    built = folder / "built-from.txt"
    if not built.exists() or built.read_text() != requirements.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        output_of(["/usr/bin/python3", "-m", "venv", str(folder)], ROOT)
        install = [str(folder / "bin/python"), "-m", "pip", "install", "--requirement", str(requirements)]
        output_of(install, ROOT, timeout_seconds=600)
        shutil.copy(requirements, built)
    return folder / "bin"


def version_in(requirements: Path, name: str) -> str:
    """The exact version of a tool."""
    (version,) = re.findall(rf"(?m)^{re.escape(name)}==(\S+)$", requirements.read_text())
    return version
