# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether a file server serves its exports to this host, found out by mounting them for a moment."""

from __future__ import annotations

import os
import socket

from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import CommandTimeout, run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.waiting import wait_until

NFS_PORT = 2049
CONNECT_SECONDS = 5
MOUNT_SECONDS = 20
PAUSE_SECONDS = 3
ADVICE = "On the storage host see 'exportfs -s' and journalctl -u onehpc-first-boot."

ARGUMENTS = {
    "server": {"type": "str", "required": True},
    "exports": {"type": "list", "elements": "str", "required": True},
    "wait_seconds": {"type": "float", "default": 180.0},
}


class ExportError(OnehpcError):
    """An export is not served to this host."""


def run(params, _check_mode):
    """The module's code, the same in check mode; params: validated. Raises ExportError after wait_seconds."""
    seconds = params["wait_seconds"]
    try:
        wait_until(lambda: _try(params["server"], params["exports"]), ExportError, seconds, PAUSE_SECONDS)
    except ExportError as error:
        raise ExportError(f"{error}. Waited {seconds:g} s. {ADVICE}") from None
    return {"changed": False, "exports": [f"{params['server']}:{export}" for export in params["exports"]]}


def _try(server, exports):
    try:
        socket.create_connection((server, NFS_PORT), CONNECT_SECONDS).close()
    except socket.timeout:
        raise ExportError(f"{server} does not answer on TCP port {NFS_PORT} (NFS)") from None
    except OSError as error:
        raise ExportError(f"{server} takes no connection on TCP port {NFS_PORT} (NFS): {error.strerror}") from None
    for export in exports:
        _try_mount(f"{server}:{export}")


def _try_mount(source):
    """In a mount namespace of its own, so that nothing of the trial is left whatever happens."""
    argv = ["unshare", "--mount", "mount", "-t", "nfs4", "-o", "ro,soft,timeo=50,retry=0", source, "/mnt"]
    try:
        result = run_bounded(argv, {**os.environ, "LC_ALL": "C"}, MOUNT_SECONDS)
    except CommandTimeout:
        raise ExportError(f"{source} did not mount within {MOUNT_SECONDS} s") from None
    except OSError as error:
        raise ExportError(f"{source} was not tried: {argv[0]} cannot be run: {error.strerror}") from None
    if result.return_code != 0:
        said = " ".join(result.stderr.decode("utf-8", "replace").split())
        raise ExportError(f"{source} does not mount: {said.partition(': ')[2].rstrip('.') or 'no message'}")
