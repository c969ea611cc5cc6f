# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The context parameters of the service and the role variables they set: one table."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.parameter_kinds import (
    ADDRESS,
    ADDRESS_RANGE,
    GIT_URL,
    GIT_VERSION,
    MEBIBYTES,
    NODE_PREFIX,
    PATH,
    PORT,
    POSITIVE,
    ROLE,
    SCALING,
    SECONDS,
    SHAPES,
    Kind,
)

PREFIX = "ONEAPP_"


@dataclass(frozen=True)
class Parameter:
    """name: in the context; variable: of a role, None where the launcher of the first boot alone reads the value;
    meaning: one line for documentation.
    """

    name: str
    variable: str | None
    kind: Kind
    meaning: str


PARAMETERS = (
    Parameter("ONEAPP_ROLE", "common_role", ROLE, "role of this virtual machine"),
    Parameter("ONEAPP_NFS_HOST", "common_storage_address", ADDRESS, "compute address of the storage role"),
    Parameter("ONEAPP_LDAP_HOST", "common_portal_address", ADDRESS, "compute address of the portal role"),
    Parameter("ONEAPP_POOL_RANGE", "common_pool_range", ADDRESS_RANGE, "addresses that workers may have"),
    Parameter("ONEAPP_POOL_PREFIX", "common_node_prefix", NODE_PREFIX, "start of a worker's node name"),
    Parameter("ONEAPP_POOL_SCALING", "common_pool_scaling", SCALING, "who changes the size of the pool"),
    Parameter("ONEAPP_WORKER_IDLE_SECONDS", "common_pool_idle_seconds", SECONDS, "idle time before a worker drains"),
    Parameter("ONEAPP_WORKER_DRAIN_SECONDS", "common_pool_drain_seconds", SECONDS, "drained time before it returns"),
    Parameter("ONEAPP_WORKER_MIN_VMS", "common_pool_min_vms", POSITIVE, "workers of the role that never drain"),
    Parameter("ONEAPP_WORKER_MAX_VMS", "common_pool_max_vms", POSITIVE, "most workers that the template allows a role"),
    Parameter("ONEAPP_WORKER_SHAPES", "portal_worker_shapes", SHAPES, "what a worker of each role will have"),
    Parameter("ONEAPP_SLURM_STATE_EXPORT", "common_state_export", PATH, "directory of all that must survive"),
    Parameter(
        "ONEAPP_SLURM_DEF_MEM_PER_CPU", "portal_def_mem_per_cpu_mib", MEBIBYTES, "memory of a job that asks for none"
    ),
    Parameter("ONEAPP_SLURM_CONTROLLER_PORT", "common_slurmctld_port", PORT, "TCP port of slurmctld"),
    Parameter("ONEAPP_COLLECTION_URL", None, GIT_URL, "git repository that a boot takes this collection from"),
    Parameter("ONEAPP_COLLECTION_VERSION", None, GIT_VERSION, "its branch, tag or commit"),
)

_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


def role_variables(values):
    """The role variables that context variables (dict of str to str) set, the names nobody knows, the wrong values.

    Returns (dict of variable to value, sorted list of unknown ONEAPP_ names, list of sentences that refuse a value).
    An empty value counts as not given: Sunstone sends every input of a service, also the ones left blank.
    """
    variables = {}
    unknown = []
    refusals = []
    for name, raw_text in values.items():
        text = raw_text.strip()
        if not name.startswith(PREFIX) or not text:
            continue
        parameter = _BY_NAME.get(name)
        if parameter is None:
            unknown.append(name)
            continue
        try:
            value = parameter.kind.read(text)
        except ValueError:
            refusals.append(f"{name} is {parameter.kind.shown(text)}, expected {parameter.kind.expected}")
            continue
        if parameter.variable:
            variables[parameter.variable] = value
    return variables, sorted(unknown), refusals


def parameter_value(values, name):
    """The value of one parameter in context variables, None when it is not given; ValueError when it is wrong."""
    text = values.get(name, "").strip()
    return _BY_NAME[name].kind.read(text) if text else None


def refused_variables(values):
    """Sentences that refuse values of role variables (dict of variable to any value), by the kinds of the parameters.

    An empty value counts as not given, as in role_variables.
    """
    refusals = []
    for parameter in PARAMETERS:
        text = str(values.get(parameter.variable, "")).strip()
        try:
            if text:
                parameter.kind.read(text)
        except ValueError:
            what = f"{parameter.variable} ({parameter.name}) is {parameter.kind.shown(text)}"
            refusals.append(f"{what}, expected {parameter.kind.expected}")
    return refusals
