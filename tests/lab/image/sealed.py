# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens a finished image, without mounting it, and looks for what must not be in it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.lab.command import run_checked
from tests.lab.errors import LabError
from tests.lab.image.machine_settings import SETTINGS_FILE, SOURCES_FILE, public_sources
from tests.lab.image.planted import PLANTED_KEY
from tests.lab.image.release import BOOKWORM, Release

FORBIDDEN_FILES = (
    "etc/munge/munge.key",
    "etc/pip.conf",
    "root/.config/pip/pip.conf",
    "root/.pip/pip.conf",
    "root/.ssh/authorized_keys",
    "usr/sbin/policy-rc.d",
    "var/lib/dbus/machine-id",
    "var/lib/mysql",
    "var/lib/systemd/random-seed",
    PLANTED_KEY,
    SETTINGS_FILE,
)
HOST_KEY_DIR = "etc/ssh"
APT_SETTINGS_DIR = "etc/apt/apt.conf.d"
APT_SOURCES_DIR = "etc/apt/sources.list.d"
MACHINE_ID = "etc/machine-id"


def list_dir(image: Path, directory: str) -> dict[str, int]:
    """Names and sizes in bytes of what a directory of the image holds; empty when there is no such directory."""
    # One line an entry: /inode/mode/uid/gid/name/size/
    text = _debugfs(image, f"ls -p /{directory}")
    entries = re.findall(r"(?m)^/\d+/\d+/\d+/\d+/([^/\n]+)/(\d*)/$", text)
    return {name: int(size or 0) for name, size in entries if name not in (".", "..")}


def read_file(image: Path, path: str) -> str | None:
    """Content of a file of the image, None when there is none."""
    parent, _, name = path.rpartition("/")
    return _debugfs(image, f"cat /{path}") if name in list_dir(image, parent) else None


def violations(image: Path, release: Release = BOOKWORM) -> list[str]:
    """A sentence for each thing that would make two hosts of the image the same, or that belongs to the builder."""
    found = []
    for path in FORBIDDEN_FILES:
        parent, _, name = path.rpartition("/")
        if name in list_dir(image, parent):
            found.append(f"/{path} is in the image")
    host_keys = [name for name in list_dir(image, HOST_KEY_DIR) if name.startswith("ssh_host_")]
    found += [f"/{HOST_KEY_DIR}/{name} is in the image" for name in host_keys]
    machine_id = read_file(image, MACHINE_ID)
    if machine_id is not None and machine_id.strip() not in ("", "uninitialized"):
        found.append(f"/{MACHINE_ID} is not empty")
    for name in list_dir(image, APT_SETTINGS_DIR):
        if re.search(r"(?i)proxy|cainfo", read_file(image, f"{APT_SETTINGS_DIR}/{name}") or ""):
            found.append(f"/{APT_SETTINGS_DIR}/{name} holds the builder's way to its mirror")
    found += [f"/{APT_SOURCES_DIR}/{name} is in the image" for name in list_dir(image, APT_SOURCES_DIR)]
    sources = (read_file(image, SOURCES_FILE) or "").split("\n")
    foreign = [line for line in sources if line and line not in public_sources(release.suite)]
    found += [f"/{SOURCES_FILE} holds the builder's source: {line}" for line in foreign]
    return found


def check_sealed(image: Path, release: Release = BOOKWORM) -> None:
    """LabError that lists everything found."""
    found = violations(image, release)
    if found:
        raise LabError(f"the image {image} is not sealed: " + "; ".join(found))


def _debugfs(image: Path, request: str) -> str:
    return run_checked(["debugfs", "-R", request, str(image)], timeout_seconds=60).stdout
