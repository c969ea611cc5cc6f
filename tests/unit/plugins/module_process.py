# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules run at their outer door: a process, arguments as JSON on stdin, the result as JSON on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class ModuleRun:
    """output is everything the process wrote, for looking for what must not be there."""

    exit_code: int
    result: dict
    output: str

    @property
    def failed(self):
        return self.exit_code != 0 and self.result.get("failed") is True


def run_module(name, arguments, check_mode=False, environment=None, timeout_seconds=60):
    """Run onehpc.ondemand.NAME with arguments (dict)."""
    request = {"ANSIBLE_MODULE_ARGS": dict(arguments, _ansible_check_mode=check_mode, _ansible_diff=True)}
    done = subprocess.run(
        [sys.executable, "-m", f"ansible_collections.onehpc.ondemand.plugins.modules.{name}"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    try:
        result = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"{name} wrote no JSON: {done.stdout}{done.stderr}") from None
    return ModuleRun(done.returncode, result, done.stdout + done.stderr)
