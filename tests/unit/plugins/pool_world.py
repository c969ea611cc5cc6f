# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a pool for tests of decisions: nodes, jobs, a service, a VM, with what most of them have left out."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.oneflow_states import SERVICE_RUNNING
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service, ServiceNode, ServiceRole, Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_arrays import ArrayTasks
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_jobs import SlurmJob
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode

PREFIX = "ood-worker-"
NOW = 1_800_000_000
PORTAL_ID = 2


def name_of(vm_id):
    return f"{PREFIX}{vm_id}"


def make_node(
    name, state="IDLE", reason="", reason_user="root", cpus=2, memory_mib=3686, features=("worker",), gpus=0,
    address=None, last_busy=NOW - 5000, boot=NOW - 9000, partitions=("main",),
):  # fmt: skip
    """A dynamic node; name may be a VM id. state: base and flags, such as IDLE+DRAIN."""
    if isinstance(name, int):
        address = address or f"10.77.0.{name}"
        name = name_of(name)
    base, *flags = state.split("+")
    return SlurmNode(
        name=name, base_state=base, flags=frozenset([*flags, "DYNAMIC_NORM"]), address=address or name, cpus=cpus,
        allocated_cpus=0, memory_mib=memory_mib, features=frozenset(features), gpus=gpus,
        partitions=frozenset(partitions), reason=reason, reason_user=reason_user if reason else "",
        reason_time=NOW - 60 if reason else None, boot_time=boot, slurmd_start_time=boot, last_busy_time=last_busy,
    )  # fmt: skip


def make_job(
    job_id=1, state="PENDING", reason="Resources", nodes=(), required=(), cpus=1, memory_mib=100, gpus=0, count=1,
    feature="", partitions=("main",), tasks=None, throttle=None, array_job_id=None, end=None, exclusive=False,
):  # fmt: skip
    """A job; tasks: how many waiting array tasks the line stands for."""
    return SlurmJob(
        job_id=job_id, array_job_id=array_job_id or job_id, tasks=ArrayTasks(tasks, throttle) if tasks else None,
        user="alice", state=state, partitions=tuple(partitions), node_count=count, cpus=cpus, memory_mib=memory_mib,
        gpus=gpus, feature_expression=feature, required_nodes=tuple(required), nodes=tuple(nodes), exclusive=exclusive,
        submit_time=NOW - 100, start_time=None, end_time=end, reason="None" if state != "PENDING" else reason,
        name=b"job",
    )  # fmt: skip


def make_service(workers=(3, 4), cardinality=None, state=SERVICE_RUNNING, **more_roles):
    """A service with one storage, one portal and these workers, oldest first."""
    lists = {"storage": (1,), "portal": (PORTAL_ID,), "worker": tuple(workers), **more_roles}
    roles = tuple(
        ServiceRole(
            name=name,
            cardinality=cardinality if name == "worker" and cardinality is not None else len(ids),
            state=2,
            nodes=tuple(ServiceNode(vm_id, f"{name}_{vm_id}") for vm_id in ids),
        )
        for name, ids in lists.items()
    )
    return Service(id=1, name="ondemand", state=state, roles=roles)


def make_vm(vm_id, role="worker", running=True, **user_template):
    """A VM of the service."""
    return Vm(
        id=vm_id,
        name=f"{role}_{vm_id}",
        state=3,
        lcm_state=3 if running else 12,
        user_template={"ROLE_NAME": role, "SERVICE_ID": "1", **user_template},
        addresses=(f"10.66.0.{vm_id}", f"10.77.0.{vm_id}"),
    )
