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
  - One tick of a worker. It probes its own health, reads OneGate and Slurm once, decides, makes at most one change of
    its own node and publishes all its figures in one update.
  - C(SLURM_PENDING) is the number of waiting jobs that one more worker of this role could start, C(SLURM_WANTED) the
    number of workers that are still needed to start them all. Both are the same on every worker of the role.
  - C(ACTIVE_SESSIONS), C(SESSION_USERS) and C(IDLE_SECONDS) tell of the jobs on this worker; C(SLURM_IDLE_NODES) and
    C(SLURM_ALLOC_NODES) are the nodes of the cluster without a job and with one; C(REPORT_TIME) is the time of the
    report in Unix seconds; C(SLURM_NODENAME) is repeated.
  - C(HEALTHY) is 1 when the home mount, the software catalogue, munge and slurmd of this worker are ready. The probes
    run as O(probe_user) in children with a time limit. A file server that hangs costs seconds, and as long as a child
    of an earlier tick waits for it no other is started.
  - The oldest worker of the role drains itself when it has been idle for O(idle_seconds), nothing waits, the service
    is RUNNING and more workers than must stay can take jobs. While it is drained and empty every worker publishes
    C(OLDEST_IDLE) as 1, and OneFlow removes it.
  - It returns when a job waits that it could serve, when it has stood drained for O(drain_seconds) while the service
    was RUNNING, or when OneFlow scales nothing because the service is WARNING, FAILED_SCALING or SCALING without an
    end. C(OLDEST_IDLE) is withdrawn first; the node takes jobs 150 seconds after that.
  - OneFlow removes the first VM of its list. While that worker is down or drained by somebody, the role cannot
    shrink; the tick says so.
  - A node that somebody else drained or put a reason on is never touched.
  - When slurmctld does not answer, C(SLURM_PENDING), C(SLURM_WANTED) and C(OLDEST_IDLE) are 0 and what is not known
    is left as it was. When anything else fails, C(HEALTHY) is 0 too and the module fails.
  - Over a local connection an action plugin runs the same code in process.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: Probes, decides and reports; nothing is changed, published or remembered.
options:
  node_name:
    description: This worker's node in Slurm, O(node_prefix) and the id of the virtual machine.
    type: str
    required: true
  node_prefix:
    description: What the names of the pool's nodes begin with.
    type: str
    required: true
  scaling:
    description:
      - Who changes the size of the pool.
      - V(policies) is OneFlow with the elasticity policies of the service template, by the figures of the workers.
      - V(direct) is the portal. The worker publishes C(SLURM_PENDING) and C(OLDEST_IDLE) as 0, so that no policy
        fires, and neither drains nor returns.
      - A worker that was drained in the other mode when the mode changed is returned by whoever scales now, in
        V(policies) the worker itself.
    type: str
    choices: [policies, direct]
    default: policies
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
  max_vms:
    description:
      - The most workers that OneFlow allows a role. A virtual machine cannot see it.
      - A job on more nodes than all worker roles together may have does not count as pending.
      - V(0) means that it is not known.
    type: int
    default: 0
  home_path:
    description: Where the homes are mounted by NFS version 4. Empty when they are not.
    type: str
    default: /home
  catalogue_path:
    description: A folder of the software catalogue, there only while that is mounted. Empty when there is none.
    type: str
    default: ""
  probe_user:
    description: The account that the probes of the worker's health run as.
    type: str
    default: nobody
  probe_path:
    description: The file that a probe of the file systems holds as long as it lives. It must not outlive a boot.
    type: path
    default: /run/onehpc/pool_probe
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
  description:
    - What was published, C(SLURM_NODENAME) and C(REPORT_TIME) aside. C(IDLE_SECONDS) alone is no change.
    - Without slurmctld only C(SLURM_PENDING), C(OLDEST_IDLE), C(SLURM_WANTED) and C(HEALTHY).
  returned: success
  type: dict
  sample:
    SLURM_PENDING: 0
    OLDEST_IDLE: 0
    SLURM_WANTED: 0
    HEALTHY: 1
    ACTIVE_SESSIONS: 1
    IDLE_SECONDS: 0
    SLURM_IDLE_NODES: 1
    SLURM_ALLOC_NODES: 1
    SESSION_USERS: demo1:2026-11-30T12:00:00Z
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
  description: What was seen, what was done and why, in one line for the log.
  returned: success
  type: str
  sample: >-
    worker 7 (oldest of 3): pending 0, wanted 0, sessions 0, idle 240 s of 600 s; nothing changed:
    Idle for 240 s of 600 s.
healthy:
  description: Whether the probes found everything ready. What they did not is in RV(why).
  returned: success
  type: bool
  sample: true
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
