# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a worker's decision alone takes in a large pool."""

from __future__ import annotations

import time
from statistics import median

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker import decide_worker
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_memory import WorkerMemory
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_worker_model import WorkerPolicy, WorkerReading
from tests.unit.plugins.pool_world import NOW, PREFIX, make_job, make_node, make_service, make_vm, name_of

WORKERS = 1_000
JOBS = 10_000
RUNS = 3
FIRST_VM = 1_000
# Alike jobs come in runs in a real queue; these do not, so that nothing is gained by remembering the last one.
REASONS = ("Resources", "Priority", "Dependency", "JobHeldUser", "AssocMaxJobsLimit")
FEATURES = ("", "worker", "worker|big", "[worker]", "big&worker")


def large_pool() -> WorkerReading:
    """What a worker reads in a pool of 1,000 busy workers, with one job on each and 9,000 that wait."""
    ids = range(FIRST_VM, FIRST_VM + WORKERS)
    running = [make_job(i, state="RUNNING", nodes=(name_of(vm_id),)) for i, vm_id in enumerate(ids, 1)]
    waiting = [
        make_job(
            i,
            reason=REASONS[i % len(REASONS)],
            cpus=1 + i % 3,
            memory_mib=100 + i % 4000,
            count=1 + (i % 50 == 0),
            feature=FEATURES[i % len(FEATURES)],
            tasks=20 if i % 10 == 0 else None,
            throttle=5 if i % 20 == 0 else None,
            exclusive=i % 7 == 0,
        )
        for i in range(WORKERS + 1, JOBS + 1)
    ]
    nodes = tuple(make_node(vm_id, state="MIXED") for vm_id in ids)
    slurm = SlurmReading(nodes=nodes, jobs=tuple(running + waiting))
    return WorkerReading(now=NOW, slurm=slurm, service=make_service(workers=tuple(ids)), vm=make_vm(FIRST_VM))


def decision_seconds() -> float:
    """CPU seconds of one decision, the median of a few."""
    reading, seconds = large_pool(), []
    policy = WorkerPolicy(node_prefix=PREFIX, idle_seconds=600, drain_seconds=600, min_vms=1)
    for _ in range(RUNS):
        begin = time.process_time()
        decision = decide_worker(policy, reading, WorkerMemory(name_of(FIRST_VM)))
        seconds.append(time.process_time() - begin)
        if decision.figures.slurm_pending == 0:
            raise AssertionError(f"nothing was counted: {decision.why}")
    return median(seconds)
