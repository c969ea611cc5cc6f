#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One tick of the portal."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pool_reconcile
short_description: Delete the nodes of vanished workers, keep the placeholders, reset stale figures
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - One tick of the portal. It reads Slurm and OneGate once and decides about every node by itself. A node in use is
    skipped and reported, and a failure with one node does not keep the others from being done.
  - A node is deleted when two complete readings, 20 to 120 seconds apart, show no such virtual machine in the
    service, slurmctld has no contact to it (or its address belongs to another worker by now), and no job is on it or
    asks for it. Nothing is judged while the service is being deployed or undeployed.
  - A node that still holds a job when OneGate confirms that its virtual machine is gone is set down, which ends the
    job. It is deleted by a later tick.
  - Every worker role gets a placeholder C(ph-ROLE), a node in state FUTURE, so that jobs are accepted and wait while
    no worker is there.
  - On a worker that has not reported for more than 90 seconds, an C(OLDEST_IDLE) of 1 is reset to 0.
  - Nodes whose name is not O(node_prefix) and a number are listed and left alone.
  - Over a local connection an action plugin runs the same code in process.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: Decides and reports; nothing is changed or remembered.
options:
  node_prefix:
    description: What the names of the pool's nodes begin with.
    type: str
    required: true
  shapes:
    description:
      - What a worker of each role offers, for the placeholders, with the memory in MiB.
      - For example V(worker:cpus=2:mem=3686:gpus=0;worker_big:cpus=8:mem=30000).
      - A role that is not named gets the largest worker of it that ever registered, before that one with 2 CPUs and
        3686 MiB.
    type: str
    default: ""
  memory_path:
    description:
      - The file in which the portal remembers which nodes have no virtual machine, and the largest worker of each role.
      - It should lie with the controller's state, so that a replaced portal knows the shapes.
    type: path
    default: /var/lib/onehpc/pool_reconcile.json
  timeout_seconds:
    description: Time for everything together.
    type: float
    default: 25.0
"""

EXAMPLES = r"""
- name: Delete the nodes of vanished workers and keep the placeholders
  onehpc.ondemand.pool_reconcile:
    node_prefix: ood-worker-
    shapes: worker:cpus=2:mem=3686
"""

RETURN = r"""
deleted:
  description: Nodes that were deleted.
  returned: success
  type: list
  elements: str
  sample: [ood-worker-4]
set_down:
  description: Nodes that were set down because their virtual machine is gone while a job was on them.
  returned: success
  type: list
  elements: str
  sample: []
kept:
  description: Nodes without a virtual machine in the service that stay for now, and why.
  returned: success
  type: list
  elements: dict
  sample: [{node: ood-worker-5, why: its VM is not in the service; waiting for a second reading}]
placeholders:
  description: Placeholders that were created or replaced.
  returned: success
  type: list
  elements: dict
  sample: [{name: ph-worker, kind: create, cpus: 2, memory_mib: 3686, gpus: 0, features: [worker]}]
oldest_idle_reset:
  description: Virtual machines of workers that stopped reporting, whose C(OLDEST_IDLE) was reset.
  returned: success
  type: list
  elements: int
  sample: []
other_nodes:
  description: Nodes that are not the pool's.
  returned: success
  type: list
  elements: str
  sample: []
unread_vms:
  description: Listed workers that OneGate did not show.
  returned: success
  type: list
  elements: int
  sample: []
controller_up:
  description: Whether slurmctld answered. If not, no node was touched.
  returned: success
  type: bool
  sample: true
service_state:
  description: The state of the OneFlow service.
  returned: success
  type: str
  sample: RUNNING
why:
  description: What there is to say about the reading, in words.
  returned: success
  type: str
  sample: Every node of the pool was looked at.
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import pool_reconcile
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(pool_reconcile.ARGUMENTS, pool_reconcile.run)


if __name__ == "__main__":
    main()
