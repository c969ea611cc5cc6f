# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual machine in full, as the core shows it and as OneGate's extended service hands it on, secrets included."""

from __future__ import annotations

import uuid
from typing import Any

from tests.opennebula.states import LcmState
from tests.opennebula.vms import VirtualMachine

#: Hosts take turns. No guest runs there: the drivers are OpenNebula's own without effect.
HOSTS = ("node1.example", "node2.example")
DRIVER = "dummy"

_RULES = [
    {
        "PROTOCOL": "ALL",
        "RULE_TYPE": rule_type,
        "SECURITY_GROUP_ID": "0",
        "SECURITY_GROUP_NAME": "default",
    }
    for rule_type in ("OUTBOUND", "INBOUND")
]


def permissions() -> dict[str, str]:
    """The owner may use and manage, others nothing."""
    return {
        f"{who}_{right}": "1" if who == "OWNER" and right in "UM" else "0"
        for who in ("OWNER", "GROUP", "OTHER")
        for right in "UMA"
    }


def collapsed(value: Any) -> Any:
    """A section as Ruby makes it from XML: one occurrence is an object, several are a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def complete(vm: VirtualMachine) -> dict[str, Any]:
    """All of a VM, in the core's order."""
    shown = vm.document()
    return {
        **{name: shown[name] for name in ("ID", "UID", "GID", "UNAME", "GNAME", "NAME")},
        "PERMISSIONS": permissions(),
        "LAST_POLL": "0",
        "STATE": shown["STATE"],
        "LCM_STATE": shown["LCM_STATE"],
        "PREV_STATE": shown["STATE"],
        "PREV_LCM_STATE": shown["LCM_STATE"],
        "RESCHED": "0",
        "STIME": shown["STIME"],
        "ETIME": shown["ETIME"],
        "DEPLOY_ID": f"{_host(vm)}:{vm.name}:{DRIVER}" if _deployed_at(vm) else "",
        "MONITORING": {},
        "SCHED_ACTIONS": {},
        "TEMPLATE": _template(vm),
        "USER_TEMPLATE": shown["USER_TEMPLATE"],
        "HISTORY_RECORDS": {"HISTORY": _history(vm)} if _deployed_at(vm) else {},
        "BACKUPS": {"BACKUP_CONFIG": {}, "BACKUP_IDS": {}},
    }


def _host(vm: VirtualMachine) -> str:
    return HOSTS[_host_id(vm)]


def _host_id(vm: VirtualMachine) -> int:
    return (vm.id + 1) % len(HOSTS)


def _deployed_at(vm: VirtualMachine) -> int:
    """Epoch seconds, 0 while it waits for the scheduler."""
    name = LcmState.PROLOG.name
    return next((int(entry["time"]) for entry in vm.history if entry["event"] == name), 0)


def _template(vm: VirtualMachine) -> dict[str, Any]:
    template = {name: collapsed(value) for name, value in vm.template.items()}
    template.update(
        AUTOMATIC_DS_REQUIREMENTS='("CLUSTERS/ID" @> 0)',
        AUTOMATIC_REQUIREMENTS="(CLUSTER_ID = 0) & !(PIN_POLICY = PINNED)",
        OS={**template.get("OS", {}), "UUID": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{vm.id} {vm.start_time}"))},
        TM_MAD_SYSTEM=DRIVER,
    )
    if "NIC" in template:
        template.update(AUTOMATIC_NIC_REQUIREMENTS='("CLUSTERS/ID" @> 0)', SECURITY_GROUP_RULE=_RULES)
    return dict(sorted(template.items()))


def _history(vm: VirtualMachine) -> dict[str, str]:
    deployed = str(_deployed_at(vm))
    return {
        "OID": str(vm.id),
        "SEQ": "0",
        "HOSTNAME": _host(vm),
        "HID": str(_host_id(vm)),
        "CID": "0",
        "STIME": deployed,
        "ETIME": str(vm.end_time),
        "VM_MAD": DRIVER,
        "TM_MAD": DRIVER,
        "DS_ID": "0",
        "PLAN_ID": "-1",
        "ACTION_ID": "0",
        "PSTIME": deployed,
        "PETIME": deployed,
        "RSTIME": deployed,
        "RETIME": str(vm.end_time),
        "ESTIME": "0",
        "EETIME": "0",
        "ACTION": "0",
        "UID": "-1",
        "GID": "-1",
        "REQUEST_ID": "-1",
    }
