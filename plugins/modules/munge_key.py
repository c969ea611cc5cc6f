#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install the munge key that the portal publishes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: munge_key
short_description: Install the munge key that the portal publishes
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Finds the portal through OneGate (of the portal role's virtual machines that run, the one with the highest id),
    reads C(SLURM_MUNGE_KEY) from it and writes the binary key to a file, whole or not at all.
  - Waits for the key while the portal has not published it yet.
  - The key appears in no output.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: The key is waited for as in a real run.
  diff_mode:
    details: Shows that the key differs, never the key.
options:
  path:
    description: The key file. Its directory must exist.
    type: path
    default: /etc/munge/munge.key
  owner:
    description: Name or number of the user that owns the file.
    type: str
    default: munge
  group:
    description: Name or number of the file's group.
    type: str
    default: munge
  mode:
    description: Permission bits in octal.
    type: str
    default: "0400"
  wait_seconds:
    description: How long to wait for the key. V(0) asks once.
    type: float
    default: 180.0
  portal_role:
    description: The name of the portal's role in the service.
    type: str
    default: portal
"""

EXAMPLES = r"""
- name: Take the cluster's munge key from the portal
  onehpc.ondemand.munge_key:
  notify: Restart munge
"""

RETURN = r"""
differed:
  description: What of the file was not as wanted, of C(content), C(owner), C(group) and C(mode).
  returned: success
  type: list
  elements: str
  sample: [content]
portal_vm_id:
  description: The virtual machine that published the key.
  returned: success
  type: int
  sample: 6
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module
from ansible_collections.onehpc.ondemand.plugins.module_utils.munge_key_install import install_published_key
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS

ARGUMENTS = dict(
    ONEGATE_ARGUMENTS,
    path={"type": "path", "default": "/etc/munge/munge.key"},
    owner={"type": "str", "default": "munge"},
    group={"type": "str", "default": "munge"},
    mode={"type": "str", "default": "0400"},
    wait_seconds={"type": "float", "default": 180.0},
    portal_role={"type": "str", "default": "portal"},
)


def main():
    run_module(ARGUMENTS, install_published_key)


if __name__ == "__main__":
    main()
