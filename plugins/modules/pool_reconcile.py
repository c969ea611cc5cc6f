#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One tick of the portal."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pool_reconcile
short_description: Keep the pool's nodes right, and in mode direct its size
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - One tick of the portal. It reads Slurm and OneGate once and decides about every node by itself. A node in use is
    skipped and reported, and a failure with one node does not keep the others from being done.
  - A node is deleted when two complete readings, 20 to 120 seconds apart, show no such virtual machine in the
    service, slurmctld has no contact to it (or its address belongs to another worker by now), and no job is on it or
    asks for it. Nothing is judged while the service is being deployed or undeployed, or is frozen.
  - A node that still holds a job when OneGate confirms that its virtual machine is gone is set down, which ends the
    job. It is deleted by a later tick.
  - Every worker role gets a placeholder C(ph-ROLE), a node in state FUTURE, so that jobs are accepted and wait while
    no worker is there.
  - On a worker that has not reported for more than 90 seconds, an C(OLDEST_IDLE) of 1 is reset to 0.
  - In mode V(direct) of O(scaling) OneFlow's policies stay silent and the portal scales the pool. It asks OneFlow for
    all the workers that waiting jobs need in one step, drains any worker that is idle for long, and lets OneGate
    terminate a drained one that two readings showed empty, one for each role and tick. A drained worker returns as
    soon as a job waits that it could serve, or when its virtual machine still runs 300 seconds after it was to be
    terminated. It never asks for fewer workers than there are, since OneFlow would remove the oldest, busy or not.
  - A worker that does not become READY within 900 seconds is terminated once, in mode V(direct) only.
  - A pool that OneFlow does not scale and will not by itself is frozen, that is the service is WARNING, FAILED_SCALING
    or SCALING for more than 900 seconds, or OneFlow has not acted on what workers publish for 10 minutes. A sentence
    about it is published as C(ERROR) of this virtual machine and erased when it no longer holds. An C(ERROR) of
    somebody else stays.
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
  scaling:
    description:
      - Who changes the size of the pool, as for M(onehpc.ondemand.pool_report).
      - After a change of the mode nothing is drained or terminated until OneFlow can no longer act on earlier figures,
        150 seconds after the last one.
    type: str
    choices: [policies, direct]
    default: policies
  min_vms:
    description:
      - Workers of each role that stay in service, at least 1.
      - Give what the service template says, since OneFlow replaces a worker that it misses.
    type: int
    default: 1
  max_vms:
    description:
      - The most workers that OneFlow allows a role. A virtual machine cannot see it.
      - Without it a refusal halves what is asked for at the next tick. A role that takes not even one more counts as
        full until its cardinality changes.
      - A job on more nodes than all worker roles together may have does not count as pending.
      - V(0) means that it is not known.
    type: int
    default: 0
  idle_seconds:
    description: In mode V(direct), how long a worker has no job before it drains.
    type: int
    default: 600
  drain_seconds:
    description:
      - In mode V(direct), how long a drained worker waits for something that hinders its termination before it returns.
      - The role's next drain then waits twice as long as before, up to a day, or until its cardinality changes.
    type: int
    default: 600
  memory_path:
    description:
      - The file in which the portal remembers which nodes have no virtual machine, the largest worker of each role,
        since when workers are idle, and what it has asked OneFlow for.
      - It should lie with the controller's state, so that a replaced portal knows the shapes.
    type: path
    default: /var/lib/onehpc/pool_reconcile.json
  metrics_path:
    description:
      - A folder of the node exporter's textfile collector, into which the tick writes the pool's metrics.
      - Every tick writes C(onehpc_pool.prom), one that fails too, with what it knows. C(onehpc_decision.prom) says what
        the last tick that changed something has done. C(onehpc_accounting.prom) is renewed every 5 minutes.
      - Without it no metrics are written. They are no change.
    type: path
  limits_path:
    description:
      - A file that tells the forms of Open OnDemand in JSON what the largest worker of each role offers, written when
        that changes, readable by all.
      - Without it no such file is kept.
    type: path
  timeout_seconds:
    description: Time for everything together.
    type: float
    default: 25.0
"""

EXAMPLES = r"""
- name: Keep the pool's nodes right
  onehpc.ondemand.pool_reconcile:
    node_prefix: ood-worker-
    shapes: worker:cpus=2:mem=3686

- name: Scale the pool, too
  onehpc.ondemand.pool_reconcile:
    node_prefix: ood-worker-
    scaling: direct
    min_vms: 2
    max_vms: 12
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
changes:
  description: Nodes that were drained, or that return.
  returned: success
  type: list
  elements: dict
  sample: [{kind: drain, node: ood-worker-6, reason: "onehpc:direct:idle"}]
terminated:
  description: Virtual machines of workers that OneGate was asked to terminate.
  returned: success
  type: list
  elements: int
  sample: []
cardinality:
  description: The cardinality that OneFlow was asked for, by role.
  returned: success
  type: dict
  sample: {worker: 7}
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
roles:
  description:
    - For each worker role its cardinality, the nodes that respond, the jobs that wait for it, the workers that these
      jobs still need, and the nodes that are drained by us.
    - Empty when slurmctld did not answer.
  returned: success
  type: dict
  sample: {worker: {cardinality: 2, responding: 2, pending: 5, wanted: 5, drained: 0}}
frozen:
  description: Why OneFlow does not scale the pool and what to do about it. Empty when it does.
  returned: success
  type: str
  sample: ""
why:
  description: What was seen and decided, and why, in one line.
  returned: success
  type: str
  sample: "RUNNING; worker: cardinality 2, responding 2, pending 5, wanted 5, drained 0; worker grows from 2 to 7"
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import pool_reconcile
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(pool_reconcile.ARGUMENTS, pool_reconcile.run)


if __name__ == "__main__":
    main()
