# SPDX-License-Identifier: GPL-3.0-or-later
"""A module of the collection run at its outer door on a host of the cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys


def run_module_on(cluster, host, module, arguments, check_mode=False):
    """Run onehpc.ondemand.MODULE with arguments (dict) on a host; returns its result (dict)."""
    request = {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_check_mode": check_mode}}
    name = f"ansible_collections.onehpc.ondemand.plugins.modules.{module}"
    done = subprocess.run(
        [*cluster.command_prefix(host), sys.executable, "-m", name],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env=dict(os.environ),
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"{module} on {host} wrote no JSON: {done.stdout}{done.stderr}") from None
