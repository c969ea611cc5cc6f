# SPDX-License-Identifier: GPL-3.0-or-later
"""The service template of this scenario: the collection's own with a second worker role and with quick rules."""

from __future__ import annotations

from tests.service.service_template import service_template

WORKER, BIG = "worker", "worker_big"
IDLE_SECONDS, DRAIN_SECONDS = 30, 60
MINIMUM = {WORKER: 2, BIG: 1}
MAXIMUM = {WORKER: 3, BIG: 2}
MEMORY_MIB = {WORKER: 640, BIG: 1024}
# Seconds of OneFlow between two readings, and after a change before it reads again.
AUTOSCALER_SECONDS = 10
PERIOD_SECONDS, COOLDOWN_SECONDS = 10, 15

# Below what Slurm offers of each role's memory; a worker that has registered says it exactly.
INPUTS = {
    "ONEAPP_WORKER_SHAPES": "worker:cpus=1:mem=450:gpus=0;worker_big:cpus=1:mem=750:gpus=0",
    "ONEAPP_WORKER_IDLE_SECONDS": str(IDLE_SECONDS),
    "ONEAPP_WORKER_DRAIN_SECONDS": str(DRAIN_SECONDS),
}
DIRECT_MAXIMUM = 3
DIRECT_INPUTS = {
    "ONEAPP_POOL_SCALING": "direct",
    "ONEAPP_WORKER_MAX_VMS": str(DIRECT_MAXIMUM),
    "ONEAPP_WORKER_IDLE_SECONDS": str(IDLE_SECONDS),
}
BOOT_SECONDS = 900


def pool_template() -> dict:
    """Two worker roles that differ by their memory alone, each with its own bounds."""
    template = service_template()
    others, worker = template["roles"][:-1], template["roles"][-1]
    return {**template, "roles": [*others, _quick(worker, WORKER), _quick(worker, BIG)]}


def _quick(role: dict, name: str) -> dict:
    contents = {"MEMORY": str(MEMORY_MIB[name]), "ONEAPP_WORKER_MIN_VMS": str(MINIMUM[name])}
    return {
        **role,
        "name": name,
        "cardinality": MINIMUM[name],
        "min_vms": MINIMUM[name],
        "max_vms": MAXIMUM[name],
        "cooldown": COOLDOWN_SECONDS,
        "template_contents": {**role["template_contents"], **contents},
        "elasticity_policies": [
            {**policy, "period": PERIOD_SECONDS, "cooldown": COOLDOWN_SECONDS} for policy in role["elasticity_policies"]
        ],
    }
