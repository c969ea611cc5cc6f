# SPDX-License-Identifier: GPL-3.0-or-later
"""A OneGate in a process of its own, with three workers: `python -m tests.bench.onegate`. It prints its endpoint."""

from __future__ import annotations

import signal

from tests.unit.plugins.onegate_double import OneGateDouble, service_body, vm_body

OWN_ID = 2
WORKER_IDS = (2, 3, 1)


def main() -> None:
    double = OneGateDouble()
    double.own_vm_id = OWN_ID
    double.service = service_body(storage=[8], portal=[9], worker=list(WORKER_IDS))
    for vm_id in WORKER_IDS:
        double.vms[vm_id] = vm_body(vm_id, "worker", address=f"10.22.0.1{vm_id}")
    print(double.endpoint, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
