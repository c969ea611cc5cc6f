#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker leaves the pool."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pool_leave
short_description: Publish neutral figures and delete this worker's node before the machine stops
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - For the stop of a worker, while network, munge and slurmd still run.
  - Publishes C(SLURM_PENDING) and C(OLDEST_IDLE) as 0, so that no figure of a stopped worker scales the pool.
  - Deletes the worker's own node, unless a job is on it or asks for it by name, or somebody else drained it or left a
    reason on it. What stays is the portal's to judge.
  - Each of the two is tried whatever became of the other; the module fails afterwards if one failed. A slurmctld that
    does not answer is no failure.
  - Over a local connection an action plugin runs the same code in process.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
options:
  node_name:
    description: This worker's node in Slurm.
    type: str
    required: true
  timeout_seconds:
    description: Time for everything together.
    type: float
    default: 20.0
"""

EXAMPLES = r"""
- name: Publish neutral figures and delete the node
  onehpc.ondemand.pool_leave:
    node_name: ood-worker-7
"""

RETURN = r"""
deleted:
  description: Whether the node was deleted.
  returned: success
  type: bool
  sample: true
why:
  description: What was done with the node, or why it stays.
  returned: success
  type: str
  sample: Node ood-worker-7 was deleted.
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import pool_leave
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(pool_leave.ARGUMENTS, pool_leave.run)


if __name__ == "__main__":
    main()
