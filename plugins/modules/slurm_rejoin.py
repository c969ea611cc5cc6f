#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let a node's name join the cluster again without losing what somebody put on it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_rejoin
short_description: Let a node's name join the cluster again after its machine was rebooted or made anew
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - A reboot and OpenNebula's delete-recreate keep the name of a worker's node, and with it the record of a machine that
    is no more, with another start, perhaps another shape and address.
  - Runs on the worker, before its slurmd starts (O(state=cleared)) and after (O(state=restored)).
extends_documentation_fragment:
  - onehpc.ondemand.attributes
options:
  name:
    description: The name of this host's node.
    type: str
    required: true
  controller:
    description: The controller's address, with its port where that is not 6817, as C(10.0.0.5:6817).
    type: str
    required: true
  state:
    description:
      - With V(cleared) the record of an earlier boot is deleted. Jobs that it still shows on the node ended with their
        machine; the node is set down for them first. A record that a job still needs after that stays, and slurmd takes
        it over.
      - A drain or a reason on it that is not this collection's is remembered. RV(starts_drained) tells how slurmd has
        to register the node then.
      - Happens once in a boot, since a later record is this boot's.
      - With V(restored) the new node is waited for, what was remembered is put on it, and forgotten. A newer word of
        somebody stands.
    type: str
    required: true
    choices: [cleared, restored]
  memory_path:
    description: Where what somebody put on the node is remembered in between.
    type: path
    default: /var/lib/onehpc/slurm_rejoin.json
  marker_path:
    description: Tells that the earlier record was dealt with in this boot.
    type: path
    default: /run/onehpc/slurm_rejoin
  wait_seconds:
    description: How long to wait for the controller, and for the new node. V(0) tries once.
    type: float
    default: 60.0
"""

EXAMPLES = r"""
- name: Delete the node's record of an earlier boot
  onehpc.ondemand.slurm_rejoin:
    name: ood-worker-7
    controller: 10.0.0.5:6817
    state: cleared
  register: rejoin

- name: Put on the new node what somebody had put on the old one
  onehpc.ondemand.slurm_rejoin:
    name: ood-worker-7
    controller: 10.0.0.5:6817
    state: restored
"""

RETURN = r"""
why:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
  sample: The record of an earlier boot is deleted.
starts_drained:
  description:
    - Whether what is remembered keeps jobs off the node. Its slurmd then has to register with C(State=DRAIN) in
      C(--conf), so that no job starts before the reason is back.
  returned: success
  type: bool
  sample: false
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import slurm_rejoin
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(slurm_rejoin.ARGUMENTS, slurm_rejoin.run)


if __name__ == "__main__":
    main()
