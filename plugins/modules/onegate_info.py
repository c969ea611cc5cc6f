#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a virtual machine and its service from OneGate."""

from __future__ import annotations

DOCUMENTATION = r"""
module: onegate_info
short_description: Read a virtual machine and its service from OneGate
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Reads the virtual machine it runs on, or another one of the same service, and the service.
  - An answer that is not complete is a failure, never an empty list.
  - What is taken for a secret by its name (C(SLURM_MUNGE_KEY), names ending in C(_KEY), C(_PASS), C(_PASSWORD),
    C(_SECRET), C(_TOKEN), lists of local users) is left out and only named.
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
attributes:
  diff_mode:
    support: N/A
    details: Changes nothing.
options:
  vm_id:
    description: Another virtual machine of the same service. By default the one this runs on.
    type: int
seealso:
  - module: onehpc.ondemand.onegate_vm
"""

EXAMPLES = r"""
- name: Read this virtual machine and its service
  onehpc.ondemand.onegate_info:
  register: onegate

- name: Show how many workers there are
  ansible.builtin.debug:
    msg: "{{ onegate.service.roles | selectattr('name', 'match', 'worker') | map(attribute='cardinality') | sum }}"
"""

RETURN = r"""
vm:
  description: The virtual machine.
  returned: success
  type: dict
  contains:
    id:
      description: Its id.
      type: int
      sample: 7
    name:
      description: Its name in OpenNebula.
      type: str
      sample: worker_0_(service_3)
    state:
      description: Its state, 3 for ACTIVE.
      type: int
      sample: 3
    lcm_state:
      description: Its state within ACTIVE, 3 for RUNNING.
      type: int
      sample: 3
    is_running:
      description: Whether both are 3.
      type: bool
      sample: true
    role_name:
      description: Its role in the service, none outside a service.
      type: str
      sample: worker
    addresses:
      description: The IPv4 address of each network interface, in order.
      type: list
      elements: str
      sample: [10.0.0.7, 10.1.0.7]
    user_template:
      description: The published attributes without secrets.
      type: dict
      sample: {READY: "YES"}
    hidden_attributes:
      description: Names of the attributes that were left out.
      type: list
      elements: str
      sample: [SLURM_MUNGE_KEY]
service:
  description: The service, none when the virtual machine belongs to none.
  returned: success
  type: dict
  contains:
    id:
      description: Its id.
      type: int
      sample: 3
    name:
      description: Its name.
      type: str
      sample: ondemand
    state:
      description: Its state in OneFlow, 2 for RUNNING.
      type: int
      sample: 2
    state_name:
      description: The same by name.
      type: str
      sample: RUNNING
    roles:
      description:
        - The roles, each with RV(ignore:name), RV(ignore:cardinality), RV(ignore:state), RV(ignore:state_name) and
          RV(ignore:nodes), a list of RV(ignore:vm_id) and RV(ignore:name) in OneFlow's order, the oldest first.
      type: list
      elements: dict
      sample: [{name: worker, cardinality: 1, state: 2, state_name: RUNNING, nodes: [{vm_id: 7, name: worker_0}]}]
clock_skew_seconds:
  description:
    - The clock of the answering server minus the clock of this host, good to about a second.
    - None when the answer carries no date. OneGate itself sends none, a proxy before it does.
  returned: success
  type: float
  sample: 0.4
endpoint:
  description: The OneGate endpoint that was used.
  returned: success
  type: str
  sample: http://10.0.0.1:5030
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_facts import onegate_facts

ARGUMENTS = dict(ONEGATE_ARGUMENTS, vm_id={"type": "int"})


def run(params, _check_mode):
    return onegate_facts(client_of(params), params["vm_id"])


def main():
    run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
