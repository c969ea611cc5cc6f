# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker's files as its image has them, in a mount namespace of the bench's own: nothing else here is a host."""

from __future__ import annotations

import compileall
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import jinja2
import yaml

from tests.bench.onegate import OWN_ID
from tests.checks.environment import ROOT, VENV_BIN
from tests.unit.plugins.onegate_double import TOKEN
from tests.unit.plugins.slurm_samples import TOKEN as SQUEUE_TOKEN
from tests.unit.plugins.slurm_samples import recorded
from tests.unit.tick.runner_host import START_WITH_SOCKET

ROLE = ROOT / "roles" / "common"
INSTALLED = ("meta", "playbooks", "plugins", "roles", "galaxy.yml")
VERSION, SCENARIO = "22.05", "mixed"
# The folders that the collection's code names itself.
EMPTIED = ("/run", "/var/lib")
# Slurm's own programs are dear or cheap as Slurm likes; these two cost next to nothing.
SCONTROL = """#!/bin/sh
case "$*" in
*ping*) exec cat '{folder}/ping' ;;
*slurmd*) exit ;;
*) exec cat '{folder}/nodes' ;;
esac
"""
SQUEUE = """#!/bin/sh
for given; do
  case "$given" in *[,:]*) token="${{given##*[[:cntrl:]]}}" ;; esac
done
exec sed "s/{token}\\$/$token/" '{folder}/squeue'
"""
MUNGE = "#!/bin/sh\nexec echo credential\n"
UNMUNGE = "#!/bin/sh\nexec cat\n"
SITE = """\
all:
  vars:
    # Something to look at, in the place of the mounted homes.
    worker_catalogue_path: {root}
"""


class WorkerHost:
    """root: an empty folder outside of what is emptied."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.chmod(0o755)  # the probes are not root's
        for folder in EMPTIED:
            subprocess.run(["mount", "-t", "tmpfs", "bench", folder], check=True)
        self.collections = root / "collections"
        self.config = root / "etc"
        self.programs = root / "programs"
        self.socket_path = root / "tick.sock"
        self.environment = {
            "ANSIBLE_CONFIG": str(self.config / "ansible.cfg"),
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "PATH": f"{self.programs}:/usr/sbin:/usr/bin:/sbin:/bin",
        }
        self._install_collection()
        self._configure()
        self._install_slurm()
        self._processes: list[subprocess.Popen] = []
        self.endpoint = self._start_onegate()
        self._write_context()
        self.runner = self._start_runner()

    def close(self) -> None:
        """End what was started."""
        for process in self._processes:
            process.terminate()
            process.wait(10)

    def _install_collection(self) -> None:
        installed = self.collections / "ansible_collections" / "onehpc" / "ondemand"
        for name in INSTALLED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            installed.mkdir(parents=True, exist_ok=True)
            copy(source, installed / name)
        # As `bake` does.
        if not compileall.compile_dir(self.collections, quiet=1):
            raise AssertionError("the collection does not compile")

    def _configure(self) -> None:
        fixed = yaml.safe_load((ROLE / "vars" / "main" / "fixed.yml").read_text())
        variables = {
            **fixed,
            "ansible_managed": "",
            "common_venv_path": str(VENV_BIN.parent),
            "common_collections_path": str(self.collections),
            "common_config_path": str(self.config),
            "common_tick_socket": str(self.socket_path),
        }
        (self.config / "inventory").mkdir(parents=True)
        self.programs.mkdir()
        for template, path in (
            ("ansible.cfg", self.config / "ansible.cfg"),
            ("context.onehpc.yml", self.config / "context.onehpc.yml"),
            ("tick", self.programs / "tick"),
            ("tick-runner", self.programs / "tick-runner"),
        ):
            text = (ROLE / "templates" / f"{template}.j2").read_text()
            path.write_text(jinja2.Environment(keep_trailing_newline=True).from_string(text).render(variables))
            path.chmod(0o755)
        (self.config / "inventory" / "site.yml").write_text(SITE.format(root=self.root))
        runtime = Path(fixed["common_runtime_path"])
        for folder in (runtime, Path(fixed["common_state_path"]), Path("/run/one-context")):
            folder.mkdir()
        (runtime / "collections").symlink_to(self.collections)

    def _install_slurm(self) -> None:
        folder = self.root / "slurm"
        folder.mkdir()
        for what in ("ping", "nodes", "squeue"):
            (folder / what).write_bytes(recorded(VERSION, SCENARIO, what))
        nodes = (folder / "nodes").read_text()
        for vm_id in (1, 2, 3):
            nodes = nodes.replace(f"Name=w{vm_id} ", f"Name=ood-worker-{vm_id} ")
        (folder / "nodes").write_text(nodes)
        for name, text in (("scontrol", SCONTROL), ("squeue", SQUEUE), ("munge", MUNGE), ("unmunge", UNMUNGE)):
            (self.programs / name).write_text(text.format(folder=folder, token=SQUEUE_TOKEN))
            (self.programs / name).chmod(0o755)

    def _start_onegate(self) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.onegate"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        self._processes.append(process)
        return process.stdout.readline().strip()

    def _write_context(self) -> None:
        context = {
            "TOKENTXT": TOKEN,
            "VMID": OWN_ID,
            "ONEGATE_ENDPOINT": self.endpoint,
            "ONEAPP_ROLE": "worker",
            "ETH0_IP": "127.0.0.2",
        }
        lines = [f'export {name}="{text}"\n' for name, text in context.items()]
        Path("/run/one-context/one_env").write_text("".join(lines))

    def _start_runner(self) -> subprocess.Popen:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(self.socket_path))
        listener.listen()

        with listener:
            process = subprocess.Popen(
                [sys.executable, "-c", START_WITH_SOCKET, str(listener.fileno()), self.programs / "tick-runner"],
                env=self.environment,
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._processes.append(process)
        return process
