#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of one Slurm node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_node
short_description: Drain, undrain, set down, delete a Slurm node, or create a placeholder
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Brings one Slurm node into a state with C(scontrol), and reads it back.
  - What somebody else decided stands. A node whose reason is not this collection's (it would begin with C(onehpc:))
    and not the one in O(reason) is not touched, unless O(force) is set.
  - A node that a job holds or asks for by name is never deleted.
extends_documentation_fragment:
  - onehpc.ondemand.attributes
options:
  name:
    description: The name of one node.
    type: str
    required: true
  state:
    description:
      - With V(drained) the node takes no more jobs; those on it go on. A node that somebody else has drained counts as
        drained and keeps its reason.
      - With V(undrained) it takes jobs again.
      - With V(down) the jobs on the node end. A node whose slurmd answers comes back by itself within seconds.
      - V(future) is a placeholder of the given shape, which is no machine. Jobs that would fit it are accepted and
        wait while no worker is there. One of another shape is replaced.
      - With V(absent) the node's record is deleted. Its slurmd does not notice; a restart of it registers the node
        anew.
    type: str
    required: true
    choices: [drained, undrained, down, future, absent]
  reason:
    description:
      - The reason to put on the node. Required for V(drained) and V(down).
      - For V(undrained) and V(absent), the reason that the node must have to be touched.
    type: str
  cpus:
    description: CPUs of the placeholder. Required for V(future).
    type: int
  real_memory_mib:
    description: Memory of the placeholder in MiB. Required for V(future).
    type: int
  features:
    description: Features of the placeholder. Any that a job may ask for has to be there.
    type: list
    elements: str
    default: []
  gpus:
    description: GPUs of the placeholder.
    type: int
    default: 0
  force:
    description: Touch the node even when somebody else left a reason on it.
    type: bool
    default: false
  timeout_seconds:
    description: Time for everything together.
    type: float
    default: 30.0
"""

EXAMPLES = r"""
- name: Keep jobs off a worker
  onehpc.ondemand.slurm_node:
    name: ood-worker-7
    state: drained
    reason: disk is being replaced

- name: Let it work again
  onehpc.ondemand.slurm_node:
    name: ood-worker-7
    state: undrained
    reason: disk is being replaced

- name: Let jobs wait while the pool is empty
  onehpc.ondemand.slurm_node:
    name: ph-worker
    state: future
    cpus: 2
    real_memory_mib: 3686
    features: [worker]
"""

RETURN = r"""
name:
  description: The node.
  returned: success
  type: str
  sample: ood-worker-7
state_before:
  description: Its state as Slurm shows it, V(absent) when there was no such node.
  returned: success
  type: str
  sample: IDLE+DYNAMIC_NORM
reason_before:
  description: The reason that stood on it, empty when none.
  returned: success
  type: str
  sample: ""
why:
  description: What was done, or why nothing had to be.
  returned: success
  type: str
  sample: The node is drained.
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import slurm_node_state
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(slurm_node_state.ARGUMENTS, slurm_node_state.run, required_if=slurm_node_state.REQUIRED_IF)


if __name__ == "__main__":
    main()
