#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One tick of a worker."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pool_report
short_description: Publish a worker's figures, drain it when it is idle, return it when it is needed
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - One tick of a worker. It reads Slurm and OneGate once, decides, makes at most one change of its own node and
    publishes C(SLURM_PENDING), C(OLDEST_IDLE) and C(REPORT_TIME) in one update. OneFlow's elasticity policies act on
    the first two.
  - C(SLURM_PENDING) is the number of waiting jobs that one more worker of this role could start. It is the same on
    every worker of the role.
  - The oldest worker of the role drains itself when it has been idle for O(idle_seconds), nothing waits, the service
    is RUNNING and more workers respond than must stay. While it is drained and empty every worker publishes
    C(OLDEST_IDLE) as 1, and OneFlow removes it.
  - It returns when a job waits that it could serve, or when it has stood drained for O(drain_seconds) while the service
    was RUNNING. C(OLDEST_IDLE) is withdrawn first; the node takes jobs 150 seconds after that.
  - A node that somebody else drained or put a reason on is never touched.
  - When slurmctld does not answer, the figures are 0. When anything else fails, they are 0 too and the module fails.
  - Over a local connection an action plugin runs the same code in process.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: Decides and reports; nothing is changed, published or remembered.
options:
  node_name:
    description: This worker's node in Slurm, O(node_prefix) and the id of the virtual machine.
    type: str
    required: true
  node_prefix:
    description: What the names of the pool's nodes begin with.
    type: str
    required: true
  idle_seconds:
    description: How long the oldest worker has to be without a job before it drains.
    type: int
    default: 600
  drain_seconds:
    description: How long a drained worker waits for OneFlow before it returns to service.
    type: int
    default: 600
  min_vms:
    description:
      - Workers of the role that stay; the same number as C(min_vms) in the service template, which OneGate does not
        show.
      - At least 1, since without a worker nobody would publish the figures.
    type: int
    default: 1
  memory_path:
    description: The file in which the worker remembers since when it is idle, and how a drain or return stands.
    type: path
    default: /var/lib/onehpc/pool_report.json
  timeout_seconds:
    description: Time for everything together, neutral figures after a failure included.
    type: float
    default: 25.0
"""

EXAMPLES = r"""
- name: Report the worker's figures to the pool
  onehpc.ondemand.pool_report:
    node_name: ood-worker-7
    node_prefix: ood-worker-
"""

RETURN = r"""
figures:
  description: What was published (C(REPORT_TIME) aside).
  returned: success
  type: dict
  sample: {SLURM_PENDING: 0, OLDEST_IDLE: 0}
change:
  description: The change of the node that was made (in check mode, that would be), none when there was none.
  returned: success
  type: dict
  contains:
    kind:
      description: V(drain), V(begin-return) or V(return).
      type: str
      sample: drain
    node:
      description: The node.
      type: str
      sample: ood-worker-7
    reason:
      description: The reason on the node afterwards, empty when none.
      type: str
      sample: onehpc:policies:idle
why:
  description: What the decision rests on, in words.
  returned: success
  type: str
  sample: Idle for 240 s of 600 s.
controller_up:
  description: Whether slurmctld answered.
  returned: success
  type: bool
  sample: true
service_state:
  description: The state of the OneFlow service.
  returned: success
  type: str
  sample: RUNNING
role:
  description: The OneFlow role of this worker.
  returned: success
  type: str
  sample: worker
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import pool_report
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(pool_report.ARGUMENTS, pool_report.run)


if __name__ == "__main__":
    main()
