# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One tick of the storage role: ask OneGate for the portal, make the state export its alone."""

from __future__ import annotations

import os
import shutil

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically
from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import CommandTimeout, run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_portal import PORTAL_ROLE, find_portal
from ansible_collections.onehpc.ondemand.plugins.module_utils.state_export import (
    StateExportError,
    decide,
    exported_addresses,
    plan,
    render,
)

EXPORTFS_TIMEOUT_SECONDS = 15

ARGUMENTS = {
    **ONEGATE_ARGUMENTS,
    "path": {"type": "path", "default": "/export/slurm"},
    "options": {"type": "str", "default": "rw,sync,no_subtree_check,no_root_squash,sec=sys"},
    "compute_network": {"type": "str", "required": True},
    "exports_file": {"type": "path", "default": "/etc/exports.d/onehpc-state.exports"},
    "etab": {"type": "path", "default": "/var/lib/nfs/etab"},
    "portal_role": {"type": "str", "default": PORTAL_ROLE},
}


def run(params, check_mode):
    """The tick; params: validated module parameters. Returns the module's result (dict), raises OnehpcError."""
    decision = decide(find_portal(client_of(params), params["portal_role"]), params["compute_network"])
    file_text = _read(params["exports_file"])
    result = {
        "changed": False,
        "portal_address": decision.address,
        "portal_vm_id": decision.portal_vm_id,
        "certain": decision.certain,
        "reason": decision.reason,
        "removed": [],
        "diff": _diff(params, file_text, file_text),
    }
    if not decision.certain:
        return result
    wanted_text = render(params["path"], decision.address, params["options"])
    exported = exported_addresses(_read(params["etab"]) or "", params["path"])
    work = plan(decision.address, exported, file_text, wanted_text)
    if work.is_needed:
        result["changed"] = True
        result["removed"] = list(work.unexport)
        if work.write:
            result["diff"] = _diff(params, file_text, wanted_text)
        if not check_mode:
            _carry_out(params, work, wanted_text, decision.address)
    return result


def _carry_out(params, work, wanted_text, address):
    """The old client goes before the new one comes, so at no moment two have the state."""
    for client in work.unexport:
        _exportfs("-u", f"{client}:{params['path']}")
    if work.write:
        try:
            write_atomically(params["exports_file"], wanted_text.encode(), mode=0o644)
        except OSError as error:
            raise StateExportError(f"{params['exports_file']} cannot be written: {error.strerror}.") from None
    if work.refresh:
        _exportfs("-ra")
    left = exported_addresses(_read(params["etab"]) or "", params["path"])
    if left != ((address,) if address else ()):
        raise StateExportError(
            f"{params['path']} should be exported to {address or 'nobody'} alone, but is exported to "
            f"{', '.join(left) or 'nobody'}: look for another line for it in /etc/exports and /etc/exports.d, and "
            "for the NFS server's own messages (journalctl -u nfs-server)."
        )


def _exportfs(*arguments):
    search_path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    program = shutil.which("exportfs", path=search_path)
    if program is None:
        raise StateExportError("exportfs is not installed on this host: install nfs-kernel-server.")
    command = [program, *arguments]
    try:
        done = run_bounded(command, os.environ, EXPORTFS_TIMEOUT_SECONDS)
    except CommandTimeout:
        raise StateExportError(f"{' '.join(command)} did not end within {EXPORTFS_TIMEOUT_SECONDS} s.") from None
    except OSError as error:
        raise StateExportError(f"{program} cannot be started: {error.strerror}.") from None
    if done.return_code != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise StateExportError(f"{' '.join(command)} failed ({done.return_code}): {said}")


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateExportError(f"{path} cannot be read: {error.strerror}.") from None


def _diff(params, before, after):
    path = params["exports_file"]
    return {"before_header": path, "after_header": path, "before": before or "", "after": after or ""}
