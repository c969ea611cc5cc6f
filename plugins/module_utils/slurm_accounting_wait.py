# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Waiting for slurmdbd, and for a controller whose jobs it records: the code of slurm_accounting_wait."""

from __future__ import annotations

import os

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import CommandTimeout, run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient, client_environment
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmAnswerError, SlurmError
from ansible_collections.onehpc.ondemand.plugins.module_utils.waiting import wait_until

CALL_SECONDS = 10.0
PAUSE_SECONDS = 1
SHOW_CLUSTERS = ["sacctmgr", "--noheader", "--parsable2", "show", "clusters", "format=cluster,controlport"]

ARGUMENTS = {
    "registered": {"type": "str"},
    "wait_seconds": {"type": "float", "default": 120.0},
}


def run(params: dict, _check_mode: bool) -> dict:
    """params: validated. Returns the module's result, the same in check mode. Raises SlurmError after wait_seconds."""
    seconds = params["wait_seconds"]
    try:
        ports = wait_until(lambda: _look(params["registered"]), SlurmError, seconds, PAUSE_SECONDS)
    except SlurmError as error:
        raise SlurmError(f"After {seconds:g} s {error}") from None
    return {"changed": False, "clusters": sorted(ports)}


def control_ports(stdout: str) -> dict[str, int]:
    """The port of each cluster's controller by the cluster's name, 0 for one that has not registered.

    :raises SlurmAnswerError: a line is not what was asked for.
    """
    ports = {}
    for line in stdout.splitlines():
        name, separator, port = line.partition("|")
        if not separator or not port.isdigit():
            raise SlurmAnswerError(f"sacctmgr lists a cluster as '{line[:80]}', which is not understood.")
        ports[name] = int(port)
    return ports


def _look(registered: str | None) -> dict[str, int]:
    if registered and not SlurmClient().is_controller_up():
        raise SlurmError("slurmctld does not answer. Look at journalctl -u slurmctld.")
    ports = control_ports(_show_clusters())
    if registered and not ports.get(registered):
        raise SlurmError(
            f"slurmctld has not registered cluster {registered} with slurmdbd, which lists {_listed(ports)}. Look at "
            "journalctl -u slurmctld -u slurmdbd."
        )
    return ports


def _show_clusters() -> str:
    try:
        done = run_bounded(SHOW_CLUSTERS, client_environment(os.environ), CALL_SECONDS)
    except CommandTimeout:
        raise _silent(f"'sacctmgr' did not end within {CALL_SECONDS:g} s") from None
    except OSError as error:
        raise SlurmError(f"'sacctmgr' cannot be run: {error.strerror}. It belongs to Slurm's client package.") from None
    if done.return_code != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _silent(lines[-1] if lines else "no message")
    return done.stdout.decode("utf-8", "replace")


def _silent(said: str) -> SlurmError:
    return SlurmError(f"slurmdbd does not answer ({said}). Look at journalctl -u slurmdbd -u mariadb.")


def _listed(ports: dict[str, int]) -> str:
    return ", ".join(f"{name} at port {port}" for name, port in sorted(ports.items())) or "none"
