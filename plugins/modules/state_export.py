#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Export the cluster's state to the portal alone."""

from __future__ import annotations

DOCUMENTATION = r"""
module: state_export
short_description: Export the cluster's state to the portal alone
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Finds the portal through OneGate (of the portal role's virtual machines that run, the one with the highest id) and
    exports a directory over NFS to its address on the compute network and to nobody else.
  - The old address loses the export before the new one gets it. When the service lists no portal, nobody has it.
  - On any doubt, such as a portal that is listed but not running or a read that fails, nothing changes.
  - The NFS server's list of what is exported now counts beside the file, so a run that was cut off is made good by
    the next one.
  - Over a local connection an action plugin runs the same code in process.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
options:
  path:
    description: The directory to export.
    type: path
    default: /export/slurm
  options:
    description: The NFS options of the export.
    type: str
    default: rw,sync,no_subtree_check,no_root_squash,sec=sys
  compute_network:
    description: The network, such as V(10.0.0.0/24), in which the portal has the address that gets the export.
    type: str
    required: true
  exports_file:
    description: The file that holds the export and nothing else. Its directory must exist.
    type: path
    default: /etc/exports.d/onehpc-state.exports
  etab:
    description: Where the NFS server lists what is exported now.
    type: path
    default: /var/lib/nfs/etab
  portal_role:
    description: The name of the portal's role in the service.
    type: str
    default: portal
"""

EXAMPLES = r"""
- name: Export the cluster's state to the portal alone
  onehpc.ondemand.state_export:
    compute_network: "{{ common_compute_network }}"
"""

RETURN = r"""
portal_address:
  description: The address that has the export, none when nobody has or when that is not certain.
  returned: success
  type: str
  sample: 10.0.0.6
portal_vm_id:
  description: The portal's virtual machine, none when there is none or when that is not certain.
  returned: success
  type: int
  sample: 6
certain:
  description: Whether the portal, or that there is none, is known for sure. If not, nothing was changed.
  returned: success
  type: bool
  sample: true
reason:
  description: What the decision rests on.
  returned: success
  type: str
  sample: the portal is VM 6 at 10.0.0.6
removed:
  description: Addresses that lost the export.
  returned: success
  type: list
  elements: str
  sample: [10.0.0.3]
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import state_export_tick
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(state_export_tick.ARGUMENTS, state_export_tick.run)


if __name__ == "__main__":
    main()
