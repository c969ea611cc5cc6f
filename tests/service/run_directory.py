# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a service keeps its files while it runs: disks of hosts, logs, sockets."""

from __future__ import annotations

import tempfile
from pathlib import Path

# Disk space is needed, so not /tmp, which may be memory; and a short path, because of the sockets in it.
PARENT = "/var/tmp"


def new_run_directory() -> Path:
    """A new empty directory that no other run uses."""
    return Path(tempfile.mkdtemp(prefix="onehpc-", dir=PARENT))
