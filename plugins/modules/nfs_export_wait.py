#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for a file server to serve its exports to this host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nfs_export_wait
short_description: Wait for a file server to serve its exports to this host
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Waits until the server takes connections and each export mounts from this host, over NFS version 4.
  - A trial mount lives in a mount namespace of its own and is gone with it. Nothing of the host is changed.
  - Each trial is bounded in time, so the wait ends in time whatever the server does.
extends_documentation_fragment:
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: The exports are waited for as in a real run.
  diff_mode:
    support: none
options:
  server:
    description: The file server's address.
    type: str
    required: true
  exports:
    description: The exported folders, as the server names them.
    type: list
    elements: str
    required: true
  wait_seconds:
    description: How long to wait for all of them together. V(0) tries once.
    type: float
    default: 180.0
"""

EXAMPLES = r"""
- name: Wait for the homes
  onehpc.ondemand.nfs_export_wait:
    server: 10.0.0.4
    exports: [/export/home]
"""

RETURN = r"""
exports:
  description: What mounts from this host, with the server's address.
  returned: success
  type: list
  elements: str
  sample: ["10.0.0.4:/export/home"]
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import nfs_export_wait
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(nfs_export_wait.ARGUMENTS, nfs_export_wait.run)


if __name__ == "__main__":
    main()
