# SPDX-License-Identifier: GPL-3.0-or-later
"""ssh into the hosts of a lab, from outside its namespace."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.lab.command import run_checked
from tests.lab.namespace import Namespace

PORT = 22


def make_key_pair(path: Path) -> None:
    """An ed25519 pair without a passphrase: path and path.pub."""
    run_checked(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path)])


def options(key: Path, control_dir: Path) -> list[str]:
    """ssh options: no file of the user is read or written, one connection a host is kept for a minute."""
    settings = {
        "IdentityFile": key,
        "IdentitiesOnly": "yes",
        "BatchMode": "yes",
        "StrictHostKeyChecking": "no",
        "UserKnownHostsFile": "/dev/null",
        "GlobalKnownHostsFile": "/dev/null",
        "LogLevel": "ERROR",
        "ConnectTimeout": 10,
        "ServerAliveInterval": 5,
        "ServerAliveCountMax": 4,
        "ControlMaster": "auto",
        "ControlPersist": 60,
        "ControlPath": control_dir / "ssh-%h",
    }
    return ["-F", "/dev/null"] + [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]


def ssh_argv(namespace: Namespace, key: Path, control_dir: Path, address: str) -> list[str]:
    """Command to which the remote command is appended."""
    return namespace.command("ssh", *options(key, control_dir), f"root@{address}")


def close_connection(namespace: Namespace, key: Path, control_dir: Path, address: str) -> None:
    """Ends the kept connection of a host, if there is one."""
    if (control_dir / f"ssh-{address}").exists():
        argv = namespace.command("ssh", *options(key, control_dir), "-O", "exit", f"root@{address}")
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)


def answers(namespace: Namespace, address: str, timeout_seconds: float) -> bool:
    """True when a server there says that it speaks ssh."""
    try:
        with namespace.connect(address, PORT, timeout_seconds) as connection:
            # The whole line, or sshd logs a reset connection as an error.
            return connection.recv(256).startswith(b"SSH-")
    except OSError:
        return False


def ansible_variables(namespace: Namespace, key: Path, address: str) -> dict[str, object]:
    """Inventory variables with which Ansible reaches the host from outside the namespace."""
    proxy = f"nsenter --net={namespace.path} socat - TCP:%h:%p"
    return {
        "ansible_host": address,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(key),
        "ansible_ssh_common_args": (
            f"-F /dev/null -o ProxyCommand='{proxy}' -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
            " -o LogLevel=ERROR -o IdentitiesOnly=yes"
        ),
        "ansible_ssh_pipelining": True,
        "ansible_python_interpreter": "/usr/bin/python3",
    }
