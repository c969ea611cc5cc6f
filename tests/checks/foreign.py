# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces of one machine, and secrets, in files that everybody gets.

What is foreign is read from the machine that runs the check: this checkout's path, tool folders in the
user's home, the host's name, and the hosts that apt and pip take packages from.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

# Folders and hosts that any machine has: naming them gives nothing away.
COMMON_FOLDERS = {"/", "/root", "/home", "/opt", "/srv", "/tmp", "/var", "/var/tmp", "/usr", "/usr/src", "/mnt"}
COMMON_HOSTS = {"localhost", "debian", "deb.debian.org", "security.debian.org", "ftp.debian.org", "pypi.org"}

SECRETS = {
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{20}"),
    "access token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30}|glpat-[\w-]{20}|AKIA[0-9A-Z]{16})"),
    "password in an address": re.compile(r"\w+://[^\s/:@{}$<>]+:[^\s/:@{}$<>]{6,}@[\w.-]+"),
    "password hash": re.compile(r"\$(?:1|5|6|y|2[aby])\$[./A-Za-z0-9$=]{20}"),
}


def machine_folders(checkout: Path, home: Path, search_path: str) -> list[str]:
    """The checkout, its parent, and the folders of `home` that programs are run from, as far as they say something."""
    names = {str(checkout), str(checkout.parent)}
    for entry in search_path.split(os.pathsep):
        if Path(entry).is_relative_to(home) and Path(entry) != home:
            names.add(str(home / Path(entry).relative_to(home).parts[0]))
    return sorted(names - COMMON_FOLDERS)


def machine_hosts() -> list[str]:
    """This host's name and the package hosts of apt and pip, without those everybody uses."""
    hosts = {socket.gethostname()}
    settings = _output(sys.executable, "-m", "pip", "config", "list") + _output("apt-get", "indextargets")
    for address in re.findall(r"https?://[^\s'\"]+", settings):
        hosts.add(urlsplit(address).hostname or "")
    return sorted(host for host in hosts if len(host) > 3 and host not in COMMON_HOSTS)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def foreign_words(content: str, folders: list[str], hosts: list[str]) -> list[str]:
    """What `content` holds of `folders` (as whole path beginnings), `hosts` (as whole words) and SECRETS."""
    found = []
    for folder in folders:
        if re.search(r"(?<![\w.~-])" + re.escape(folder) + r"(?![\w-])", content):
            found.append(folder)
    found += [host for host in hosts if re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", content)]
    found += [what for what, pattern in SECRETS.items() if pattern.search(content)]
    return found
