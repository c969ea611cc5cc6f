# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory from which a controller configures the hosts of one service over ssh."""

from __future__ import annotations

import yaml

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import context_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.context_variables import context_variables
from tests.checks.environment import ROOT
from tests.service.service import Service, host_name

# What the hosts' own inventory says of their size: a controller does not read it.
SITE = ROOT / "tests" / "lab" / "guest" / "etc" / "onehpc" / "inventory" / "lab.yml"


def inventory(service: Service) -> dict:
    """A group for each role with its hosts, `ROLE-VMID`; a host's variables are those that its context would set."""
    groups = {}
    for role in service.document()["roles"]:
        groups[role["name"]] = {
            "hosts": {f"{role['name']}-{vm_id}": _variables(service, vm_id) for vm_id in service.members(role["name"])}
        }
    return {"all": {"vars": yaml.safe_load(SITE.read_text())["all"]["vars"], "children": groups}}


def _variables(service: Service, vm_id: int) -> dict[str, object]:
    context = context_of(service.client.vm(vm_id)["TEMPLATE"]["CONTEXT"])
    return {
        **service.lab.ansible_inventory_vars(host_name(vm_id)),
        # A lab that comes after this one has the same addresses: none of its connections may be taken for one of these.
        "ansible_control_path_dir": str(service.lab.scratch_dir),
        **context_variables(context),
    }
