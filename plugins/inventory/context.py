# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Inventory plugin: this virtual machine, as its OpenNebula context describes it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: context
short_description: This virtual machine, as its OpenNebula context describes it
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Makes C(localhost) a member of the group that C(ONEAPP_ROLE) names (C(storage), C(portal) or C(worker)) and turns
    the C(ONEAPP_*) parameters of the context into role variables. Only names of the collection's own table become
    variables; any other C(ONEAPP_*) name that has a value is listed in C(common_unknown_parameters).
  - The context is parsed, never sourced.
  - The variables are set on the group C(all), so that every group and host variable of a site's own inventory wins
    over them. Give that inventory after this one.
  - Also set are C(common_vm_id), C(common_management_address) (first network interface),
    C(common_compute_address) and C(common_compute_network) (last network interface), as far as the context has them.
  - A wrong value sets no variable. A sentence that refuses it is in C(common_refused_parameters), so that the first
    boot can publish it; without a valid role the host is in no group.
options:
  plugin:
    description: Must be V(onehpc.ondemand.context).
    type: str
    required: true
    choices: [onehpc.ondemand.context]
  one_env:
    description: The file in which OpenNebula's context package leaves the context.
    type: path
    default: /run/one-context/one_env
    env:
      - name: ONEHPC_ONE_ENV
notes:
  - The name of the configuration file must end in C(onehpc.yml) or C(onehpc.yaml).
"""

EXAMPLES = r"""
# /etc/onehpc/context.onehpc.yml
plugin: onehpc.ondemand.context
"""

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import read_context
from ansible_collections.onehpc.ondemand.plugins.module_utils.context_variables import context_variables
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.parameter_kinds import ROLES

HOST = "localhost"


class InventoryModule(BaseInventoryPlugin):
    NAME = "onehpc.ondemand.context"

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith(("onehpc.yml", "onehpc.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            variables = context_variables(read_context(self.get_option("one_env")))
        except OnehpcError as error:
            raise AnsibleParserError(str(error)) from error
        for role in ROLES:  # the empty ones too, so that a play for all roles finds what it names
            inventory.add_group(role)
        inventory.add_host(HOST, group=variables.get("common_role"))
        inventory.set_variable(HOST, "ansible_connection", "local")
        inventory.set_variable(HOST, "ansible_python_interpreter", "/usr/bin/python3")
        for name, value in variables.items():
            # Up to ansible-core 2.18 an inventory's text would be taken for a template.
            inventory.set_variable("all", name, wrap_var(value))
