# SPDX-License-Identifier: GPL-3.0-or-later
"""A gate's program: ended in time, its output shown when it does not pass."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SHOWN_LINES = 60


def output_of(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, timeout_seconds: float = 300
) -> str:
    """Standard output and errors of a program that exits 0; otherwise AssertionError with its errors and last lines."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout_seconds,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(argv)} ended with {done.returncode}:\n{worth_showing(done.stdout)}"
    return done.stdout


def worth_showing(output: str) -> str:
    """The errors that a long output names, and its last lines."""
    lines = output.splitlines()
    before = [line for line in lines[:-SHOWN_LINES] if line.startswith(("ERROR", "FAILED"))]
    return "\n".join([*before, *lines[-SHOWN_LINES:]])
