#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for a node to be registered with the Slurm controller and to respond."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_registration
short_description: Wait for a node to be registered with the Slurm controller and to respond
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Waits until the controller shows the node as idle, allocated or mixed, drained or not, and in contact.
  - Asking is a round trip of munge credentials. One that is refused for its clock or its key is told as such.
  - Changes nothing.
extends_documentation_fragment:
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: The node is waited for as in a real run.
  diff_mode:
    support: none
options:
  name:
    description: The name of the node.
    type: str
    required: true
  controller:
    description: The controller's address, with its port where that is not 6817, as C(10.0.0.5:6817).
    type: str
    required: true
  wait_seconds:
    description: How long to wait. V(0) asks once.
    type: float
    default: 120.0
"""

EXAMPLES = r"""
- name: Wait for this worker to be a node of the cluster
  onehpc.ondemand.slurm_registration:
    name: ood-worker-7
    controller: 10.0.0.5:6817
"""

RETURN = r"""
state:
  description: The node's state as Slurm shows it.
  returned: success
  type: str
  sample: IDLE+DYNAMIC_NORM
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import slurm_registration
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(slurm_registration.ARGUMENTS, slurm_registration.run)


if __name__ == "__main__":
    main()
