# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether a worker's node is registered with the controller and responds."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import SlurmClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_errors import SlurmError
from ansible_collections.onehpc.ondemand.plugins.module_utils.waiting import wait_until

PAUSE_SECONDS = 2

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "controller": {"type": "str", "required": True},
    "wait_seconds": {"type": "float", "default": 120.0},
}

# What a client of Slurm says about a credential that one side could not use, and what it means. A controller that
# refuses one closes the connection without a word (seen on 22.05).
_CREDENTIALS = {
    ("Zero Bytes were transmitted or received",): (
        "the controller refuses this host's munge credentials: the clock or the key of one of them is wrong. Compare "
        "'chronyc tracking' and 'sha256sum /etc/munge/munge.key' on both"
    ),
    ("Expired credential", "Rewound credential"): (
        "a munge credential is out of time: the clock of this host or of the controller is wrong. Compare 'chronyc "
        "tracking' on both"
    ),
    ("Invalid credential",): (
        "a munge credential is invalid: the key of this host is not the controller's. Compare 'sha256sum "
        "/etc/munge/munge.key' on both, and restart munge"
    ),
}


class NotRegistered(SlurmError):
    """The node does not serve; the text says why as a clause."""


def run(params, _check_mode):
    """The module's code, the same in check mode; params: validated. Raises SlurmError after wait_seconds."""
    client = SlurmClient(run=asking(params["controller"]))
    seconds = params["wait_seconds"]
    try:
        node = wait_until(lambda: registered_node(client, params["name"]), SlurmError, seconds, PAUSE_SECONDS)
    except SlurmError as error:
        raise SlurmError(
            f"Node {params['name']} does not serve after {seconds:g} s: {cause_of(str(error)).rstrip('.')}. See "
            "journalctl -u slurmd here and -u slurmctld on the portal."
        ) from None
    return {"changed": False, "state": node.state}


def registered_node(client, name):
    """The SlurmNode, drained or not; SlurmError when it is not registered, invalid, down or does not respond."""
    node = client.node(name)
    if node is None:
        raise NotRegistered("it is not registered")
    if not node.is_responding:
        raise NotRegistered(f"it is {node.state}" + (f" ({node.reason})" if node.reason else ""))
    return node


def cause_of(error):
    """An error's text, or what it means when it is about a credential."""
    for words, meaning in _CREDENTIALS.items():
        if any(word in error for word in words):
            return meaning
    return error


def asking(controller):
    """A runner for Slurm's commands that asks this controller, also while no slurmd has left a configuration here."""

    def run_command(argv, environment, timeout_seconds):
        return run_bounded(argv, {**environment, "SLURM_CONF_SERVER": controller}, timeout_seconds)

    return run_command
