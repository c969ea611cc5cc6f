# SPDX-License-Identifier: GPL-3.0-or-later
"""The first boot's launcher as a process: a host's folders, programs that stand for Ansible's, its context."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.unit.plugins.onegate_double import TOKEN

COMMIT = "0123456789abcdef0123456789abcdef01234567"
START = (
    "import sys; from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_command import main; "
    "sys.exit(main(sys.argv[1:]))"
)
# Notes how it was called, then does what the test says.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$*" >> '{log}'
{body}
"""


@dataclass(frozen=True)
class Attempt:
    """One run: exit status, the lines it wrote, the lines of stderr."""

    status: int
    lines: list[str]
    errors: list[str]


class Host:
    """A host that boots, below one folder."""

    def __init__(self, root: Path, onegate_endpoint: str) -> None:
        self.root = root
        self.onegate_endpoint = onegate_endpoint
        self.one_env = root / "one_env"
        self.runtime = root / "run" / "onehpc"
        self.state = root / "state"
        self.baked = root / "baked"
        self.programs = root / "programs"
        self.called = root / "called"
        for folder in (self.state, self.programs, self.baked / "ansible_collections" / "ansible" / "posix"):
            folder.mkdir(parents=True)
        write_collection(self.baked / "ansible_collections" / "onehpc" / "ondemand", version="0.1.0")
        (self.baked / "onehpc-ondemand.commit").write_text(COMMIT + "\n")
        self.program("ansible-playbook", "exit 0")
        self.program("systemctl", "echo 0")
        self.context()

    def context(self, **changes: str | None) -> None:
        """Write the context of VM 2, a worker; None leaves a variable out."""
        values = {
            "TOKENTXT": TOKEN,
            "VMID": "2",
            "ONEGATE_ENDPOINT": self.onegate_endpoint,
            "ONEAPP_ROLE": "worker",
            "ETH0_IP": "127.0.0.2",
            "ETH0_GATEWAY": "127.0.0.2",
            **changes,
        }
        given = {name: text for name, text in values.items() if text is not None}
        self.one_env.write_text("".join(f'export {name}="{text}"\n' for name, text in given.items()))

    def program(self, name: str, body: str) -> None:
        """Put a shell program in the place of one of Ansible's or systemd's."""
        path = self.programs / name
        path.write_text(PROGRAM.format(log=self.called, body=body))
        path.chmod(0o755)

    def boot(self, timeout_seconds: float = 60, **seconds: float) -> Attempt:
        """One attempt with short times, or those given (context_seconds=...)."""
        settings = {
            "context_seconds": 0.2,
            "onegate_seconds": 1,
            "pull_seconds": 30,
            "playbook_seconds": 30,
            "retry_seconds": 0.1,
            "one_env": self.one_env,
            "runtime_path": self.runtime,
            "state_path": self.state,
            "baked_path": self.baked,
            "config_path": self.root,
            "programs_path": self.programs,
            **seconds,
        }
        options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        done = subprocess.run(
            [sys.executable, "-c", START, *options],
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            env={**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"},
            check=False,
        )
        return Attempt(done.returncode, done.stdout.splitlines(), done.stderr.splitlines())

    def calls(self) -> list[str]:
        """Arguments of each program that was called, oldest first."""
        return self.called.read_text().splitlines() if self.called.exists() else []

    def restarted_times(self, restarts: int) -> None:
        """What systemd says about its automatic restarts of the unit."""
        self.program("systemctl", f"echo {restarts}")


def write_collection(folder: Path, version: str, namespace: str = "onehpc", name: str = "ondemand") -> None:
    """An installed collection: nothing but what tells its identity."""
    folder.mkdir(parents=True)
    info = {"namespace": namespace, "name": name, "version": version}
    (folder / "MANIFEST.json").write_text(json.dumps({"collection_info": info}))
