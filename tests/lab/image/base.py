# SPDX-License-Identifier: GPL-3.0-or-later
"""First layer: a plain Debian with systemd, sshd and Python, as a tar file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.image.cache import digest_of
from tests.lab.image.machine_settings import MachineSettings
from tests.lab.image.release import Release

PACKAGES = (
    "ca-certificates",
    "dbus",
    "e2fsprogs",
    "iproute2",
    "iptables",
    "iputils-ping",
    "kmod",
    "netbase",
    "nfs-common",
    "openssh-server",
    "procps",
    "python3",
    "python3-apt",
    "sudo",
    "systemd",
    "systemd-sysv",
    "udev",
)
DPKG_OPTIONS = (
    "force-unsafe-io",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)
BUILD_SECONDS = 900


def base_digest(release: Release, extra_packages: Sequence[str] = ()) -> str:
    return digest_of([Path(__file__), release.suite, *extra_packages])


def build_base(
    tar: Path, release: Release, settings: MachineSettings, log: Path, extra_packages: Sequence[str] = ()
) -> None:
    """Writes the tar file; LabError with the last lines of log when mmdebstrap fails."""
    sources = tar.with_suffix(".sources.list")
    sources.write_text("".join(f"{line}\n" for line in settings.sources))
    apt_settings = tar.with_suffix(".apt.conf")
    apt_settings.write_text(settings.apt_settings)
    argv = ["mmdebstrap", "--variant=apt", "--mode=root", f"--include={','.join([*PACKAGES, *extra_packages])}"]
    argv += [f"--dpkgopt={option}" for option in DPKG_OPTIONS]
    if settings.apt_settings:
        argv.append(f"--aptopt={apt_settings}")
    # What mmdebstrap was lent stays out of the tree.
    argv.append('--customize-hook=rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1"/etc/apt/sources.list.d/*')
    argv += [release.suite, str(tar), str(sources)]
    with open(log, "ab") as output:
        try:
            subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=BUILD_SECONDS, check=True
            )
        except FileNotFoundError:
            raise LabError("mmdebstrap is not installed: install the packages of tests/setup/packages.txt") from None
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            last = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
            raise LabError(f"building Debian {release.suite}: {error}. Last lines of {log}:\n{last}") from error
