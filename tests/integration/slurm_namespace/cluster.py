# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Slurm cluster of a few hosts on one machine, without guests.

Every "host" is a set of namespaces of its own (mount, network, UTS, PID) with private /run, /etc/slurm and spool.
The hosts of a cluster meet on a bridge inside the controller's network namespace, so nothing of it is seen from
outside, and all of a host ends with its first process, which ends when the test process does.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CONTROLLER = "ctl"
CONTROLLER_ADDRESS = "10.99.0.1"
PROGRAMS = ("slurmctld", "slurmd", "scontrol", "munged", "unshare", "nsenter", "ip")

_SLURM_CONF = """\
ClusterName=ood
SlurmctldHost={controller}({address})
SlurmUser=slurm
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout={slurmd_timeout_seconds}
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmctldPidFile=/run/slurmctld.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MaxNodeCount={max_node_count}
TreeWidth=65533
SlurmctldParameters=enable_configless,cloud_reg_addrs
GresTypes=gpu
JobRequeue=0
DefMemPerCPU=100
MinJobAge=300
SlurmctldLogFile=/var/spool/slurmctld/slurmctld.log
PartitionName=main Nodes=ALL Default=YES MaxTime=12:00:00 State=UP
"""

# The first process of a host: it prepares the mounts, says so, and ends when its input is closed.
_FIRST_PROCESS = """\
set -e
hostname "$1"
mount --make-rprivate /
mount -t tmpfs none /run
mount -t tmpfs none /var/spool
mkdir -p /run/munge /run/slurm /var/spool/slurmd /var/spool/slurmctld
chown slurm /var/spool/slurmctld
if [ "$1" = {controller} ]; then mount --bind "$2/etc" /etc/slurm; else mount -t tmpfs none /etc/slurm; fi
mount --bind "$2/hosts" /etc/hosts
ip link set lo up
echo ready
exec cat
"""


class ClusterError(Exception):
    """The cluster could not be brought up, or a command in it failed."""


@dataclass
class Host:
    """One host. pid: its first process as seen from outside."""

    name: str
    address: str
    process: subprocess.Popen
    pid: int


class SlurmCluster:
    """A controller and dynamic nodes. Use it as a context manager.

    extra_conf: lines added to slurm.conf. before_controller: called with the cluster when the controller's host has
    munge and slurmctld has not been started yet.
    """

    def __init__(
        self,
        run_dir: Path,
        max_node_count: int = 16,
        slurmd_timeout_seconds: int = 30,
        extra_conf: str = "",
        before_controller: Callable[[SlurmCluster], None] = lambda _cluster: None,
    ):
        self.run_dir = run_dir
        self._before_controller = before_controller
        self.hosts: dict[str, Host] = {}
        self._workers_so_far = 0
        (run_dir / "etc").mkdir(mode=0o755)
        (run_dir / "munge").mkdir(mode=0o700)
        (run_dir / "etc" / "slurm.conf").write_text(
            _SLURM_CONF.format(
                controller=CONTROLLER,
                address=CONTROLLER_ADDRESS,
                max_node_count=max_node_count,
                slurmd_timeout_seconds=slurmd_timeout_seconds,
            )
            + extra_conf
        )
        # 22.05 refuses to start where it finds no cgroup file system, unless the version is named.
        (run_dir / "etc" / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = run_dir / "munge" / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        (run_dir / "hosts").write_text(f"127.0.0.1 localhost\n{CONTROLLER_ADDRESS} {CONTROLLER}\n")

    def __enter__(self) -> SlurmCluster:
        try:
            self._start_host(CONTROLLER, CONTROLLER_ADDRESS)
            self._ip(CONTROLLER, "link", "add", "bridge", "type", "bridge")
            self._ip(CONTROLLER, "addr", "add", f"{CONTROLLER_ADDRESS}/24", "dev", "bridge")
            self._ip(CONTROLLER, "link", "set", "bridge", "up")
            self._start_munge(CONTROLLER)
            self._before_controller(self)
            self.start_controller()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start_controller(self) -> None:
        """Start slurmctld and wait until it answers."""
        self.run(CONTROLLER, "slurmctld")
        self.wait_for(
            "slurmctld to answer", lambda: self.run(CONTROLLER, "scontrol", "ping", check=False).returncode == 0
        )

    def stop_controller(self) -> None:
        """Stop slurmctld and wait until it is gone."""
        self.stop_daemon(CONTROLLER, "slurmctld")

    def add_worker(self, name: str, cpus: int = 2, memory_mib: int = 1000, features: str = "worker") -> Host:
        """Start a host whose slurmd registers by itself as a dynamic node, and wait until it is idle."""
        self._workers_so_far += 1
        host = self._start_host(name, f"10.99.0.{10 + self._workers_so_far}")
        self._ip(
            CONTROLLER,
            "link",
            "add",
            f"to{host.address.split('.')[-1]}",
            "type",
            "veth",
            "peer",
            "name",
            "compute",
            "netns",
            str(host.pid),
        )
        self._ip(CONTROLLER, "link", "set", f"to{host.address.split('.')[-1]}", "master", "bridge", "up")
        self._ip(name, "addr", "add", f"{host.address}/24", "dev", "compute")
        self._ip(name, "link", "set", "compute", "up")
        self._start_munge(name)
        self.start_slurmd(name, cpus, memory_mib, features)
        return host

    def start_slurmd(self, name: str, cpus: int = 2, memory_mib: int = 1000, features: str = "worker") -> None:
        """Start slurmd on a host and wait until its node is idle."""
        self.run(
            name, "slurmd", "-Z", "--conf-server", f"{CONTROLLER_ADDRESS}:6817", "-L", f"{self.run_dir}/{name}.log",
            "--conf", f"CPUs={cpus} RealMemory={memory_mib} Feature={features}",
        )  # fmt: skip
        self.wait_for(f"node {name} to be idle", lambda: "State=IDLE+DYNAMIC_NORM " in self.show_node(name))

    def stop_slurmd(self, name: str) -> None:
        """Stop slurmd on a host and wait until it is gone."""
        self.stop_daemon(name, "slurmd")

    def stop_daemon(self, host: str, daemon: str) -> None:
        """Stop one of Slurm's daemons on a host and wait until it has ended: it saves its state on the way."""
        pid = self.run(host, "cat", f"/run/{daemon}.pid").stdout.strip()
        self.run(host, "kill", pid)
        # Nobody in the host reaps it: as a zombie it has no program any more.
        self.wait_for(
            f"{daemon} to end", lambda: self.run(host, "readlink", f"/proc/{pid}/exe", check=False).returncode
        )

    def kill_host(self, name: str) -> None:
        """Take a host's power away."""
        host = self.hosts.pop(name)
        os.kill(host.pid, signal.SIGKILL)
        host.process.wait(10)

    def show_node(self, name: str) -> str:
        """What scontrol shows of a node, or nothing."""
        return self.run(CONTROLLER, "scontrol", "-o", "show", "node", name, check=False).stdout

    def submit(self, *argv: str, name: str = "job", script: str = "sleep 600") -> int:
        """Submit a batch job and return its number."""
        done = self.run(
            CONTROLLER, "sbatch", "--parsable", "-o", "/dev/null", "-J", name, *argv, "--wrap", script
        )  # fmt: skip
        return int(done.stdout)

    def job_state(self, job_id: int) -> str:
        """The state of a job, in capital letters."""
        return self.run(CONTROLLER, "squeue", "-h", "-a", "-t", "all", "-o", "%T", "-j", str(job_id)).stdout.strip()

    def command_prefix(self, host: str) -> list[str]:
        """What to put before a command so that it runs on a host."""
        return ["nsenter", "-t", str(self.hosts[host].pid), "-m", "-n", "-u", "-p"]

    def run(
        self, host: str, *argv: str, check: bool = True, timeout_seconds: float = 30
    ) -> subprocess.CompletedProcess:
        """Run a command on a host. Its output goes to files: a daemon it leaves behind would hold a pipe open."""
        with (self.run_dir / "stdout").open("w+") as stdout, (self.run_dir / "stderr").open("w+") as stderr:
            done = subprocess.run(
                [*self.command_prefix(host), *argv],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, check=False, timeout=timeout_seconds,
            )  # fmt: skip
            stdout.seek(0)
            stderr.seek(0)
            done.stdout, done.stderr = stdout.read(), stderr.read()
        if check and done.returncode != 0:
            raise ClusterError(f"{' '.join(argv)} on {host}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def wait_for(self, what: str, condition, timeout_seconds: float = 60) -> None:
        """Wait until a condition holds; ClusterError naming it when it does not in time."""
        deadline = time.monotonic() + timeout_seconds
        while not condition():
            if time.monotonic() > deadline:
                log = self.run(CONTROLLER, "tail", "-n", "30", "/var/spool/slurmctld/slurmctld.log", check=False).stdout
                raise ClusterError(f"Waited {timeout_seconds} s for {what}.\n{log}")
            time.sleep(0.2)

    def stop(self) -> None:
        """End every host. Safe to call twice."""
        for name in list(self.hosts):
            self.kill_host(name)

    def _start_host(self, name: str, address: str) -> Host:
        process = subprocess.Popen(
            ["unshare", "-m", "-n", "-u", "-p", "-f", "--mount-proc", "--kill-child",
             "sh", "-c", _FIRST_PROCESS.format(controller=CONTROLLER), "sh", name, str(self.run_dir)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            process.kill()
            raise ClusterError(f"The namespaces of host {name} could not be set up.")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        self.hosts[name] = Host(name, address, process, int(children[0]))
        return self.hosts[name]

    def _start_munge(self, name: str) -> None:
        self.run(
            name, "munged", f"--key-file={self.run_dir}/munge/munge.key", "--socket=/run/munge/munge.socket.2",
            "--pid-file=/run/munge/munged.pid", "--log-file=/run/munge/munged.log", "--seed-file=/run/munge/seed",
        )  # fmt: skip

    def _ip(self, host: str, *argv: str) -> None:
        subprocess.run(["nsenter", "-t", str(self.hosts[host].pid), "-n", "ip", *argv], check=True, timeout=10)
