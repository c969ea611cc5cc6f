# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool at the outer doors of its modules: a loopback OneGate and a fake Slurm that agree with each other.

The nodes are the recorded ones, w1 to w3, so the prefix of names is "w"; the VM that a test runs on is VM 2.
"""

from __future__ import annotations

import getpass
import json
import time

from tests.unit.plugins.fake_slurm import FakeSlurm
from tests.unit.plugins.module_process import run_module
from tests.unit.plugins.onegate_double import service_body, vm_body
from tests.unit.plugins.slurm_samples import recorded

OWN = "w2"


class PoolService:
    """onegate: the double. memory: path of the memory file. arguments: options of every run; report_arguments: of a
    worker's tick."""

    def __init__(self, onegate, connection, directory):
        self.onegate = onegate
        self.slurm = FakeSlurm(directory / "bin")
        self.memory = directory / "memory.json"
        self.arguments = {**connection, "timeout_seconds": 25}
        # The homes are no mount here, and the account without rights could not reach the fakes.
        self.report_arguments = {
            "node_name": OWN,
            "node_prefix": "w",
            "memory_path": str(self.memory),
            "home_path": "",
            "catalogue_path": str(directory),
            "probe_user": getpass.getuser(),
            "probe_path": str(directory / "run" / "pool_probe"),
        }
        self.idle("22.05")

    def idle(self, version, last_busy_seconds_ago=5000):
        """Three idle nodes."""
        self.slurm.replay(recorded(version, "idle-no-jobs", "nodes"), b"")
        for name in ("w1", "w2", "w3"):
            busy = int(time.time()) - last_busy_seconds_ago
            self.slurm.rewrite_node(name, "LastBusyTime=1796045629", f"LastBusyTime={busy}")

    def list_workers(self, *vm_ids, own_role="worker", **changes):
        """Let OneFlow list these workers, oldest first; VM 2 is one of them or the portal."""
        roles = {"storage": [8], "worker": vm_ids, "portal": [2] if own_role == "portal" else [9]}
        self.onegate.service = service_body(**roles)
        self.onegate.service["SERVICE"].update(changes)
        for vm_id in {2, *vm_ids}:
            role = "worker" if vm_id in vm_ids else own_role
            self.onegate.vms[vm_id] = vm_body(vm_id, role, address=f"10.22.0.1{vm_id}")

    def run(self, module, check_mode=False, **changes):
        """Run a module of the pool."""
        return run_module(module, {**self.arguments, **changes}, check_mode, self.slurm.environment)

    def published(self, vm_id=2):
        """The figures that OneGate shows, without the time of the report."""
        template = self.onegate.user_template(vm_id)
        return {name: template[name] for name in ("SLURM_PENDING", "OLDEST_IDLE") if name in template}

    def remember(self, **changes):
        """Change what the memory file holds."""
        data = json.loads(self.memory.read_text())
        self.memory.write_text(json.dumps({**data, **changes}))

    def remembered(self):
        return json.loads(self.memory.read_text())

    def forget_calls(self):
        self.slurm.calls()
        self.onegate.requests.clear()
