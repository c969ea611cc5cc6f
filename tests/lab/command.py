# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one program of the machine with a timeout and turns a failure into a sentence."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from tests.lab.errors import LabError


def run_checked(argv: Sequence[str], timeout_seconds: float = 30, **popen) -> subprocess.CompletedProcess:
    """Runs argv and returns what it printed as text; LabError when it fails, hangs or is not installed."""
    shown = shlex.join(argv)
    try:
        done = subprocess.run(argv, text=True, capture_output=True, timeout=timeout_seconds, check=False, **popen)
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed: install the packages of tests/setup/packages.txt") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"`{shown}` did not end within {timeout_seconds:g} s") from None
    if done.returncode != 0:
        raise LabError(f"`{shown}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done
