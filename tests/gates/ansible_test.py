# SPDX-License-Identifier: GPL-3.0-or-later
"""How ansible-test is called, and what it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.checks.environment import ROOT, VENV_BIN
from tests.gates.command import output_of

SANITY = ("ansible-test", "sanity", "--color", "no", "--local")
# In an environment of its own, with the pytest that it pins.
UNITS = ("ansible-test", "units", "--color", "no", "--venv")


# A file of ansible-test that names the pip which it puts into its environments.
BOOTSTRAP_SOURCE = "ansible_test/_internal/python_requirements.py"


def offer_pip(home: Path, bootstrap_source: str) -> Path:
    """Put the pip that an ansible-test bootstraps where it looks first; returns the wheel.

    bootstrap_source: content of its BOOTSTRAP_SOURCE.
    """
    version = bootstrapped_pip(bootstrap_source)
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("get_pip.py"), cache / f"get_pip_{version.replace('.', '_')}.py")
    if not list(cache.glob(f"pip-{version}-*.whl")):
        for other in cache.glob("*.whl"):
            other.unlink()
        download = [str(VENV_BIN / "python"), "-m", "pip", "download", "--quiet", "--no-deps", f"pip=={version}"]
        output_of([*download, "--dest", str(cache)], ROOT)
    (wheel,) = cache.glob("*.whl")
    return wheel


def bootstrapped_pip(source: str) -> str:
    """The version of pip that it names."""
    (version,) = re.findall(r"\bpip='([0-9.]+)'", source)
    return version


def sanity_tests(output: str) -> list[str]:
    """Names of the sanity tests that ran."""
    return re.findall(r'(?m)^Running sanity test "([\w-]+)"', output)


def passed_units(output: str) -> int:
    """How many unit tests passed, in all of ansible-test's pytest runs."""
    return sum(int(number) for number in re.findall(r"(?m)^=+ (\d+) passed\b.* =+$", output))
