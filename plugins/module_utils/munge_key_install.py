# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The munge key of the cluster, taken from the portal and put in its file."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.munge_key import wait_for_key
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.owned_file import (
    group_number,
    install,
    mode_number,
    user_number,
)


def install_published_key(params, check_mode):
    """What the module munge_key does; params: its validated parameters. Returns its result, raises OnehpcError."""
    # Judged before the wait, so that a wrong option is told at once.
    owner, group, mode = user_number(params["owner"]), group_number(params["group"]), mode_number(params["mode"])
    key, portal_vm_id = wait_for_key(lambda: client_of(params), params["portal_role"], params["wait_seconds"])
    path = params["path"]
    differed = install(path, key, owner, group, mode, check_mode)
    return {
        "changed": bool(differed),
        "differed": list(differed),
        "portal_vm_id": portal_vm_id,
        "diff": {
            "before_header": path,
            "after_header": path,
            "before": "".join(f"{what}: as it was\n" for what in differed),
            "after": "".join(f"{what}: changed\n" for what in differed),
        },
    }
