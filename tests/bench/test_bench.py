# SPDX-License-Identifier: GPL-3.0-or-later
"""The bench in a mount namespace of its own."""

from __future__ import annotations

import subprocess
import sys

from tests.checks.environment import ROOT, tool_environment


def test_a_tick_costs_no_more_than_its_bars():
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", "tests.bench"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=tool_environment(),
        stdin=subprocess.DEVNULL,
        timeout=540,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"\n{done.stdout}")
    assert done.returncode == 0, done.stdout + done.stderr
