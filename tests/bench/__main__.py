# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure, print the table, end with 1 when a bar is missed. The mount namespace that it runs in is its own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.decision import JOBS, WORKERS, decision_seconds
from tests.bench.host import WorkerHost
from tests.bench.judgement import BARE, CLIENT, COLD, DECISION_BAR_SECONDS, WARM, Cost, complaints, rendered, rows
from tests.bench.measuring import cost_of, warm_cost_of
from tests.checks.environment import VENV_BIN
from tests.unit.plugins.onegate_double import TOKEN

ROUNDS = 15
PLAYBOOK = "onehpc.ondemand.reconcile_worker"
DEBUG = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: hello
"""
PUT = """\
import sys, urllib.request
data = b"data=SLURM_PENDING%3D0&type=1"
headers = {"X-ONEGATE-TOKEN": sys.argv[2], "X-ONEGATE-VMID": "2"}
request = urllib.request.Request(sys.argv[1] + "/vm", data=data, method="PUT", headers=headers)
urllib.request.urlopen(request, timeout=10).read()
"""
INSIDE = f"""\
CPU: user and system time with all children, medians of {ROUNDS} interleaved rounds. In a worker tick: the playbook and
the inventory of an image, one reading of Slurm and the probes of health (scripts in the place of Slurm's and munge's
commands, a folder in the place of the homes), two readings of OneGate and one update. Not in it: OneGate's own time,
Slurm's clients, the tick's unit. Warm: client, runner, its child; the memory is what the runner keeps. Bare: the same
ansible.cfg, an inventory of one local host, one debug task. Client: one request."""


def measured(root: Path) -> dict[str, list[Cost]]:
    """The costs of every contestant, in rounds, so that a neighbour on the machine hits all alike."""
    host = WorkerHost(root)
    try:
        debug, put, hosts = root / "debug.yml", root / "put.py", root / "hosts"
        hosts.write_text("localhost ansible_connection=local\n")
        debug.write_text(DEBUG)
        put.write_text(PUT)
        playbook = VENV_BIN / "ansible-playbook"
        where = host.environment, root
        runs = {
            CLIENT: lambda: cost_of(["/usr/bin/python3", put, host.endpoint, TOKEN], *where),
            BARE: lambda: cost_of([playbook, "-i", hosts, debug], *where, expected="hello"),
            COLD: lambda: cost_of([playbook, PLAYBOOK], *where, expected="pool_report: "),
            WARM: lambda: warm_cost_of(
                [host.programs / "tick", PLAYBOOK], *where, host.runner.pid, expected="pool_report: "
            ),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in runs}
        for turn in range(ROUNDS + 1):
            for name, run in runs.items():
                cost = run()
                if turn:  # the first fills the caches
                    costs[name].append(cost)
        return costs
    finally:
        host.close()


def main() -> int:
    seconds = decision_seconds()
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        table = rows(measured(Path(root)))
    print(rendered(table))
    pool = f"{WORKERS:,} workers and {JOBS:,} jobs"
    print(f"One worker's decision with {pool}: {seconds:.2f} s of CPU, the bar is {DECISION_BAR_SECONDS:.2f} s.")
    print(f"\n{INSIDE}")
    missed = complaints(table, seconds)
    for sentence in missed:
        print(f"missed: {sentence}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
