# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong when a host boots, one entry a fault: what is set, and the sentence that is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.service.boot_bench import COLLECTION, ONE_ENV, BootBench

PLAYBOOK = f"{COLLECTION}/playbooks/first_boot.yml"
KEY = "/etc/munge/munge.key"
REFUSED = "the controller refuses this host's munge credentials: the clock or the key of one of them is wrong."


def nothing(bench: BootBench) -> None:
    """For a fault that `BootBench.mend` takes back."""


@dataclass(frozen=True)
class Fault:
    """name: for the test's id; set: makes it; sentence: what the sentence of the log begins with.

    also: what it says further on; published: whether OneGate can take the sentence; unset: takes back what
    `BootBench.mend` does not; seconds: in which the attempt must end, on a machine that has other work too.
    """

    name: str
    set: Callable[[BootBench], object]
    sentence: str
    also: str = ""
    published: bool = True
    unset: Callable[[BootBench], object] = nothing
    seconds: float = 400


# On any host, shown on storage's.
COMMON_FAULTS = (
    Fault(
        "unknown role",
        lambda bench: bench.set_context(ONEAPP_ROLE="gate,way"),
        "unknown role: Refuse a value that is wrong: ONEAPP_ROLE is 'gate,way', expected storage, portal or worker.",
    ),
    Fault(
        "wrong value in the site's inventory",
        lambda bench: bench.set_variables(common_pool_range='"10.0.0.9"'),
        "storage: Refuse a value that is wrong: common_pool_range (ONEAPP_POOL_RANGE) is '10.0.0.9', expected a range",
    ),
    Fault(
        "value of a wrong type in the site's inventory",
        lambda bench: bench.set_variables(storage_nfs_lease_seconds="abc", storage_nfs_lease_second=15),
        "storage: Refuse a value that is wrong: storage_nfs_lease_seconds is 'abc', expected a whole number.",
    ),
    Fault(
        "missing context",
        lambda bench: bench.run(f"rm {ONE_ENV}"),
        f"unknown role: the context: The context {ONE_ENV} cannot be read: No such file or directory.",
        published=False,
    ),
    Fault(
        "unreadable context",
        lambda bench: bench.run(f"""printf 'export VMID="0' > {ONE_ENV}"""),
        f"unknown role: the context: {ONE_ENV}: The value of VMID has no closing quote",
        published=False,
    ),
    Fault(
        "OneGate refuses connections",
        lambda bench: bench.client.set_fault("onegate", "refuse"),
        "storage: withdrawing READY: No OneGate endpoint answers",
        published=False,
    ),
    Fault(
        "OneGate hangs",
        lambda bench: bench.client.set_fault("onegate", "hang"),
        "storage: withdrawing READY: No OneGate endpoint answers",
        published=False,
    ),
    Fault(
        "OneGate answers 401",
        lambda bench: bench.client.set_fault("onegate", "status", status=401),
        "storage: withdrawing READY: OneGate at http://10.66.0.1:5030 answered 401 to PUT /vm: Not authorized.",
        published=False,
    ),
    Fault(
        "OneGate answers 500",
        lambda bench: bench.client.set_fault("onegate", "status", status=500),
        "storage: withdrawing READY: No OneGate endpoint answers",
        published=False,
    ),
    Fault(
        "OneGate answers 500 to updates",
        lambda bench: bench.client.set_fault("onegate", "status", status=500, method="PUT"),
        "storage: withdrawing READY: OneGate at http://10.66.0.1:5030 answered 500 to PUT /vm: Internal server error.",
        published=False,
    ),
    Fault(
        "clock that differs from OneGate's",
        lambda bench: bench.client.set_date("onegate", 3600),
        "storage: Refuse a clock that is wrong: the clock is 3",
    ),
    Fault(
        "playbook that does not parse",
        lambda bench: bench.run(f"cp {PLAYBOOK} /run/playbook.kept; echo '- hosts: [' >> {PLAYBOOK}"),
        "storage: the playbook of the first boot: YAML parsing failed",
        unset=lambda bench: bench.run(f"mv /run/playbook.kept {PLAYBOOK}"),
    ),
    Fault(
        "playbook that does not end",
        lambda bench: bench.set_waits(playbook_seconds=3),
        "storage: the playbook of the first boot: it did not end within 3 s. See journalctl -u onehpc-first-boot.",
    ),
)

WORKER_FAULTS = (
    Fault(
        "export that never comes",
        lambda bench: bench.set_variables(common_home_export="/export/nowhere"),
        "worker: Wait for the homes' export: ",
    ),
    Fault(
        "storage host that does not answer",
        lambda bench: bench.set_variables(common_storage_address="10.77.0.254"),
        "worker: Wait for the homes' export: 10.77.0.254 ",
    ),
    Fault(
        "munge key that never comes",
        lambda bench: bench.client.set_fault("onegate", "status", status=404, method="GET", path="/vms/.*"),
        "worker: Take the key that the portal publishes: No munge key after 5.0 s: ",
    ),
    Fault(
        "controller that does not answer",
        lambda bench: bench.set_variables(common_slurmctld_port=6899),
        "worker: Wait for the Slurm controller: the controller 10.77.",
    ),
    Fault(
        "another munge key than the controller's",
        lambda bench: bench.service.run_on_portal(
            f"cp --preserve {KEY} {KEY}.kept; head --bytes 1024 /dev/urandom > {KEY}; systemctl restart munge"
        ),
        "worker: Wait for the node to be registered and responding: Node ood-worker-",
        also=REFUSED,
        unset=lambda bench: bench.service.run_on_portal(f"mv {KEY}.kept {KEY}; systemctl restart munge"),
    ),
    Fault(
        "another clock than the controller's",
        lambda bench: bench.run("date --set '+20 minutes'"),
        "worker: Wait for the node to be registered and responding: Node ood-worker-",
        also=REFUSED,
        unset=lambda bench: bench.run("date --set '-20 minutes'"),
    ),
)
