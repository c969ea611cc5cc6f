# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with the tick's programs as the role installs them, a runner on a socket, and a small collection to run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jinja2

from tests.checks.environment import COLLECTIONS_PATH, ROOT, VENV_BIN

TEMPLATES = ROOT / "roles" / "common" / "templates"
PLAYBOOK = "acme.tiny.tick"
ACTION = """\
from ansible.plugins.action import ActionBase
from ansible_collections.acme.tiny.plugins.module_utils.words import act


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        result.update(act())
        return result
"""
# Given a listening socket as 3, as systemd gives it.
START_WITH_SOCKET = """
import os, sys
listener = int(sys.argv[1])
if listener != 3:
    os.dup2(listener, 3)
    os.close(listener)
os.set_inheritable(3, True)
os.execv(sys.argv[2], sys.argv[2:])
"""


class RunnerHost:
    """root: a folder that is this host's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.socket_path = root / "tick.sock"
        self.log = root / "runner.log"
        self.source = root / "first"
        self._write_collection(self.source)
        (root / "collections").symlink_to(self.source)
        (root / "inventory").write_text("localhost ansible_connection=local\n")
        self.configure()
        self.environment = {
            "ANSIBLE_CONFIG": str(root / "ansible.cfg"),
            "HOME": str(root),
            "LANG": "C.UTF-8",
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        }
        for name in ("tick", "tick-runner"):
            self._install(name)
        self.runner: subprocess.Popen | None = None

    def configure(self, more: str = "") -> None:
        """Write ansible.cfg; more: lines of its first section."""
        lines = ["[defaults]", f"collections_path = {self.root}/collections", f"inventory = {self.root}/inventory"]
        lines += [f"home = {self.root}/ansible", f"local_tmp = {self.root}/ansible/local", more]
        (self.root / "ansible.cfg").write_text("\n".join(lines) + "\n")

    def tasks(self, text: str, source: Path | None = None) -> None:
        """The tasks of the collection's playbook, as YAML lines."""
        play = f"- hosts: all\n  gather_facts: false\n  tasks:\n{text}"
        (self._collection(source or self.source) / "playbooks" / "tick.yml").write_text(play)

    def act(self, body: str, source: Path | None = None) -> None:
        """The body of the function, a result as dict, that the playbook's task calls from the module_utils."""
        text = f"import os, signal, subprocess, sys, time\n\n\ndef act():\n{body}\n"
        (self._collection(source or self.source) / "plugins" / "module_utils" / "words.py").write_text(text)

    def pull(self, name: str) -> Path:
        """Another source of code, to which the collections path leads from now on."""
        other = self.root / name
        self._write_collection(other)
        (self.root / "new").symlink_to(other)
        (self.root / "new").replace(self.root / "collections")
        return other

    def start_runner(self) -> None:
        """Start the runner; it listens when this returns."""
        with self.log.open("ab") as log, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self.socket_path))
            listener.listen()
            self.runner = subprocess.Popen(
                [sys.executable, "-c", START_WITH_SOCKET, str(listener.fileno()), str(self.root / "tick-runner")],
                env=self.environment,
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(self.has_begun)

    def has_begun(self) -> bool:
        """It answers, and hangs up on what is no request."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(30)
            connection.connect(str(self.socket_path))
            connection.sendall(b"hello")
            return connection.recv(1) == b""

    def end_runner(self, number: int = signal.SIGTERM) -> None:
        """End the runner as systemd would, or harder."""
        if self.runner is not None:
            self.runner.send_signal(number)
            self.runner.wait(10)
            self.runner = None

    def begin_tick(self, **environment: str) -> subprocess.Popen:
        """A tick's unit starts its program."""
        return subprocess.Popen(
            [self.root / "tick", PLAYBOOK],
            env={**self.environment, **environment},
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tick(self, **environment: str) -> tuple[int, str, str]:
        """Exit status, output and errors of a tick."""
        process = self.begin_tick(**environment)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output, errors

    def _install(self, name: str) -> None:
        template = jinja2.Environment(keep_trailing_newline=True).from_string((TEMPLATES / f"{name}.j2").read_text())
        program = self.root / name
        program.write_text(
            template.render(
                ansible_managed="",
                common_venv_path=str(VENV_BIN.parent),
                common_collections_path=str(COLLECTIONS_PATH),
                common_tick_socket=str(self.socket_path),
            )
        )
        program.chmod(0o755)

    def _collection(self, source: Path) -> Path:
        return source / "ansible_collections" / "acme" / "tiny"

    def _write_collection(self, source: Path) -> None:
        folder = self._collection(source)
        for kind in ("playbooks", "plugins/action", "plugins/module_utils"):
            (folder / kind).mkdir(parents=True)
        (folder / "plugins" / "action" / "act.py").write_text(ACTION)
        self.tasks("    - acme.tiny.act:\n", source)
        self.act(f"    return {{'msg': 'by {source.name}'}}", source)


def wait_for(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Return once `holds` is true; AssertionError when it does not become so."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int) -> list[str]:
    """State letters of a process's children."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(parent) == pid:
                found.append(state)
    return found


def resident_kib(pid: int) -> int:
    """Memory of a process that is in RAM, KiB."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1])
