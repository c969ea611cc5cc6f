# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The probes of a worker's health: home mount, software catalogue, munge, slurmd.

None of them needs slurmctld. Those of the file systems run beside the others, so that together they take seconds.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import CommandTimeout, run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_file_probe import FileProbe
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_health import ProbeOutcome
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_client import client_environment

FILE_SECONDS = 4.0
MUNGE_SECONDS = 2.0
SLURMD_SECONDS = 2.0
MOUNTS = "/proc/mounts"
HOME_TYPE = "nfs4"

MUNGE_COMMAND = ("sh", "-c", "munge --no-input | unmunge >/dev/null")
# Asks the slurmd of this very host.
SLURMD_COMMAND = ("scontrol", "show", "slurmd")


@dataclass(frozen=True)
class ProbeSettings:
    """home_path: where the homes are mounted; catalogue_path: where the software catalogue is; "" for none.

    user: the account that the probes run as. run_path: the file that the probe of file systems holds.
    """

    home_path: str
    catalogue_path: str
    user: str
    run_path: str


def probe_health(settings: ProbeSettings) -> list[ProbeOutcome]:
    """Probe everything once. What cannot be probed is an outcome too, never an error."""
    started = time.monotonic()
    # This process itself never looks at a mount: it would hang with the server.
    unmounted = bool(settings.home_path) and not is_home_mounted(_mounts(), settings.home_path)
    paths = [settings.catalogue_path, "" if unmounted else settings.home_path]
    probe = _file_probe([path for path in paths if path], settings)
    outcomes = [
        _command_outcome("slurmd", SLURMD_COMMAND, SLURMD_SECONDS, settings.user),
        _command_outcome("munge", MUNGE_COMMAND, MUNGE_SECONDS, settings.user),
    ]
    if unmounted:
        outcomes.append(ProbeOutcome(settings.home_path, f"it is no mount of type {HOME_TYPE}"))
    if isinstance(probe, FileProbe):
        outcomes.append(probe.outcome(max(0.1, FILE_SECONDS - (time.monotonic() - started))))
    elif probe is not None:
        outcomes.append(probe)
    return outcomes


def is_home_mounted(mounts: str, path: str) -> bool:
    """Whether the last mount over the path is NFS version 4. mounts: text of /proc/mounts."""
    types = [fields[2] for fields in (line.split(" ") for line in mounts.splitlines()) if fields[1:2] == [path]]
    return types[-1:] == [HOME_TYPE]


def _mounts() -> str:
    with open(MOUNTS, encoding="utf-8", errors="replace") as file:
        return file.read()


def _file_probe(paths: list[str], settings: ProbeSettings) -> FileProbe | ProbeOutcome | None:
    if not paths:
        return None
    try:
        return FileProbe(paths, settings.user, settings.run_path)
    except OSError as error:
        return ProbeOutcome(" and ".join(paths), f"the look at it could not start: {error.strerror}")


def _command_outcome(subject: str, argv: tuple[str, ...], timeout_seconds: float, user: str) -> ProbeOutcome:
    try:
        result = run_bounded(argv, client_environment(os.environ), timeout_seconds, user)
    except CommandTimeout:
        return ProbeOutcome(subject, f"no answer within {timeout_seconds:.0f} s")
    except OSError as error:
        return ProbeOutcome(subject, f"'{argv[0]}' cannot be run: {error.strerror}")
    if result.return_code == 0:
        return ProbeOutcome(subject)
    said = " ".join((result.stderr or result.stdout).decode("utf-8", "replace").split())[:120]
    return ProbeOutcome(subject, said or f"return code {result.return_code}")
