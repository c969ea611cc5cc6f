# SPDX-License-Identifier: GPL-3.0-or-later
"""One service on this machine: a lab, a simulated OpenNebula on it, and the collection's service template running."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

from tests.lab.lab import Lab, LabError
from tests.opennebula.client import Client
from tests.opennebula.states import FAILURE_LCM_STATES, LcmState, ServiceState, VmState
from tests.service.cloud import AUTOSCALER_INTERVAL_SECONDS, end_cloud, start_cloud
from tests.service.cluster import Cluster
from tests.service.progress import NotYet, Progress, ServiceError
from tests.service.service_template import booting_from, input_values, network_values, service_template, vm_template

USER = "alice"
USER_ID = 2001
HEALTHY_LCM_STATES = set(LcmState) - FAILURE_LCM_STATES - {LcmState.UNKNOWN}
# What fits the lab's hosts: one CPU, the part of the memory that jobs may have, and a job that asks for none.
INPUTS = {"ONEAPP_WORKER_SHAPES": "worker:cpus=1:mem=700:gpus=0", "ONEAPP_SLURM_DEF_MEM_PER_CPU": "256"}


class Service:
    """See the module. Made by `Service.create`, reached from another process by `Service.open`."""

    def __init__(self, run_dir: Path, progress: Progress | None = None, service_id: int | None = None):
        """service_id: of the services in `run_dir`; the first one by default."""
        self.run_dir = Path(run_dir)
        self.progress = progress or Progress()
        self.lab = Lab.open(self.run_dir / "lab")
        self.client = Client(self.run_dir / "opennebula")
        if service_id is None:
            service_id = int(json.loads((self.run_dir / "service.json").read_text())["service_id"])
        self.service_id = service_id
        self.progress.watch = self.check_health
        self.cluster = Cluster(self.run_on_portal, self.progress, USER)

    # -- bringing up and taking down ------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        run_dir: Path,
        image: Path,
        *,
        inputs: dict[str, str],
        progress: Progress,
        first_boot: bool = True,
        template: dict | None = None,
        autoscaler_seconds: int = AUTOSCALER_INTERVAL_SECONDS,
    ) -> Service:
        """Create lab and cloud in `run_dir`, register the templates and instantiate the service. Nothing is waited for
        but the cloud's own answer. Whatever fails, `take_down(run_dir)` ends what was started.

        Without first_boot the hosts do not configure themselves. template: the service template, the collection's own
        by default."""
        run_dir = Path(run_dir)
        lab = Lab.create(run_dir / "lab", image)
        progress.tell(f"lab: network namespace {lab.namespace}")
        cloud_dir = run_dir / "opennebula"
        start_cloud(cloud_dir, lab, autoscaler_seconds)
        client = Client(cloud_dir)
        client.wait_ready(30)
        progress.tell(f"simulated OpenNebula: {cloud_dir / 'opennebula.log'}")
        template = template or service_template(first_boot)
        service_id = _instantiate(client, template, vm_template(first_boot), inputs)
        (run_dir / "service.json").write_text(json.dumps({"service_id": service_id}) + "\n")
        progress.tell(f"service {service_id} instantiated from the collection's service template")
        return cls(run_dir, progress)

    def another(self, inputs: dict[str, str]) -> Service:
        """A further service of the same cloud, instantiated from the collection's service template as it is."""
        service_id = _instantiate(self.client, service_template(), vm_template(), inputs)
        return Service(self.run_dir, self.progress, service_id)

    def wait_running(self, timeout_seconds: float = 1500) -> None:
        """Wait until OneFlow says RUNNING; the lines name the VM that is being waited for."""

        def read() -> bool:
            state = self.state()
            if state is ServiceState.RUNNING:
                return True
            raise NotYet(", ".join([state.name, *self._boot_states()]))

        self.progress.wait_for("the service to be RUNNING", read, timeout_seconds=timeout_seconds)

    def wait_ready(self, vm_id: int, timeout_seconds: float = 300) -> None:
        """Wait until a VM reports READY: its first boot has ended well."""
        self.progress.wait_for(
            f"VM {vm_id} to be READY",
            lambda: self.client.vm(vm_id)["USER_TEMPLATE"].get("READY") == "YES",
            timeout_seconds=timeout_seconds,
        )

    def _boot_states(self) -> list[str]:
        states = []
        for vm in self.client.vms():
            if int(vm["STATE"]) != VmState.DONE and vm["USER_TEMPLATE"].get("READY") != "YES":
                states.append(f"VM {vm['ID']} ({vm['ROLE']}) boots for {time.time() - int(vm['STIME']):.0f} s")
        return states

    # -- what OpenNebula says -------------------------------------------------------------------------------------

    def document(self) -> dict:
        """Body of the OneFlow document: state, roles with cardinality and nodes."""
        document = self.client.service(self.service_id)
        return document.get("DOCUMENT", document)["TEMPLATE"]["BODY"]

    def state(self) -> ServiceState:
        """The service's state."""
        return ServiceState(int(self.document()["state"]))

    def role(self, name: str) -> dict:
        """One role of the document."""
        return next(role for role in self.document()["roles"] if role["name"] == name)

    def members(self, role: str) -> list[int]:
        """Ids of the role's VMs in OneFlow's order: the first is the oldest."""
        return [int(node["deploy_id"]) for node in self.role(role)["nodes"]]

    def single(self, role: str) -> int:
        """The id of the only VM of `role`."""
        members = self.members(role)
        if len(members) != 1:
            raise ServiceError(f"role {role} has {len(members)} VMs, expected one")
        return members[0]

    # -- on the hosts ---------------------------------------------------------------------------------------------

    def run(self, vm_id: int, command: str, **options) -> subprocess.CompletedProcess:
        """Run a shell command on the host of a VM, as `Lab.run` does."""
        return self.lab.run(host_name(vm_id), command, **options)

    def run_on_portal(self, command: str, **options) -> subprocess.CompletedProcess:
        """Run a shell command on the portal's host."""
        return self.run(self.single("portal"), command, **options)

    def make_user_home(self) -> None:
        """Make the user's home on the storage host, for the user alone."""
        self.run(self.single("storage"), f"install -d -m 0700 -o {USER_ID} -g {USER_ID} /export/home/{USER}")

    # -- health ---------------------------------------------------------------------------------------------------

    def check_health(self) -> None:
        """ServiceError when a VM is off without being asked to (with its console) or reports ERROR (with its log)."""
        for vm in self.client.vms():
            name, state, lcm_state = host_name(vm["ID"]), VmState(int(vm["STATE"])), LcmState(int(vm["LCM_STATE"]))
            if state is VmState.POWEROFF or lcm_state not in HEALTHY_LCM_STATES:
                console = self.lab.console(name, 40)
                raise ServiceError(f"host {name} ({vm['ROLE']}) has died. Its console ends:\n{console}")
            error = vm["USER_TEMPLATE"].get("ERROR")
            if lcm_state is LcmState.RUNNING and error:
                raise ServiceError(f"host {name} ({vm['ROLE']}) reports: {error}\n{self._first_boot_log(name)}")

    def _first_boot_log(self, name: str) -> str:
        return self._look(name, "journalctl --unit onehpc-first-boot --no-pager --lines 40 --output cat")

    def logs(self, lines: int = 80) -> str:
        """The last lines of each running host's own units and Slurm, and of the cloud's log: for a failed run."""
        command = f"journalctl --no-pager --lines {lines} --unit 'onehpc-*' --unit 'slurm*' --unit munge"
        parts = [f"--- {host.name}\n{self._look(host.name, command)}" for host in self.lab.hosts() if host.running]
        cloud = (self.run_dir / "opennebula" / "opennebula.log").read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([*parts, "--- simulated OpenNebula", *cloud])

    def _look(self, name: str, command: str) -> str:
        try:
            return self.lab.run(name, command, check=False).stdout
        except LabError as error:
            return str(error)


def _instantiate(client: Client, template: dict, vm: dict, inputs: dict[str, str]) -> int:
    """Register both templates, each role booting from the one of the virtual machine; returns the service's id."""
    template = booting_from(template, client.create_vm_template(vm))
    return client.instantiate(
        client.create_service_template(template),
        name=template["name"],
        networks_values=network_values(template, client.networks()),
        user_inputs_values=input_values(template, {**INPUTS, **inputs}),
    )


def host_name(vm_id: int | str) -> str:
    """Name of the lab host that is this VM."""
    return f"vm-{vm_id}"


def take_down(run_dir: Path) -> None:
    """End the cloud and its hosts, then the lab, and remove the directory. Harmless when parts were never there."""
    run_dir = Path(run_dir)
    try:
        end_cloud(run_dir / "opennebula")
    finally:
        if (run_dir / "lab" / "lab.json").exists():
            Lab.open(run_dir / "lab").destroy()
    shutil.rmtree(run_dir, ignore_errors=True)
