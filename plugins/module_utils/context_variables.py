# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The role variables of a VM: the parameters of its context and its place in the networks."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ContextError
from ansible_collections.onehpc.ondemand.plugins.module_utils.parameters import role_variables


def context_variables(context):
    """Role variables (dict) of a Context; what the context does not hold is left out.

    A wrong parameter sets no variable: its sentence is in common_refused_parameters, for the first boot to end with
    and to publish. ContextError when there is no VM id, since nothing can be published then.
    """
    variables, unknown, refusals = role_variables(context.values)
    if not context.values.get("ONEAPP_ROLE", "").strip():
        refusals = ["The context has no ONEAPP_ROLE, expected storage, portal or worker", *refusals]
    if context.vm_id is None:
        raise ContextError("The context has no VMID: it does not come from OpenNebula's context package.")
    management, compute = context.management_nic, context.compute_nic
    places = {
        "common_management_address": management and management.ip,
        "common_compute_address": compute and compute.ip,
        "common_compute_network": compute and compute.network,
    }
    variables.update({name: value for name, value in places.items() if value})
    variables.update(common_vm_id=context.vm_id, common_unknown_parameters=unknown, common_refused_parameters=refusals)
    return variables
