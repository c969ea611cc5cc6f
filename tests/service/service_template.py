# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's own templates, with what only a registration knows: ids, and the values of one service."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.service.progress import ServiceError

FOLDER = Path(__file__).resolve().parents[2] / "playbooks" / "files"
FIRST_BOOT_UNIT = "onehpc-first-boot.service"


def vm_template(first_boot: bool = True) -> dict:
    """The virtual machine template all roles share, as the collection ships it.

    Without first_boot a virtual machine does not configure itself: the kernel's command line masks the unit, as
    systemd-debug-generator(8) says.
    """
    template = yaml.safe_load((FOLDER / "vm_template.yml").read_text())
    if not first_boot:
        template["OS"] = {"KERNEL_CMD": f"systemd.mask={FIRST_BOOT_UNIT}"}
    return template


def service_template(first_boot: bool = True) -> dict:
    """The service template as the collection ships it.

    Without first_boot nothing waits for READY, so all roles start one after the other, and the pool keeps its size.
    """
    template = yaml.safe_load((FOLDER / "service_template.yml").read_text())
    if not first_boot:
        template["ready_status_gate"] = False
        for role in template["roles"]:
            role.pop("elasticity_policies", None)
    return template


def booting_from(template: dict, template_id: int) -> dict:
    """The service template with each role booting from the virtual machine template `template_id`."""
    return {**template, "roles": [{**role, "template_id": template_id} for role in template["roles"]]}


def input_values(template: dict, given: dict[str, str]) -> dict[str, str]:
    """A value for each user input that the template declares (its own default without a given one), and `given`.

    OneFlow refuses a declared input without a value; the default is the fifth field of `M|text|Description| |default`.
    """
    values = {}
    for name, declaration in (template.get("user_inputs") or {}).items():
        parts = str(declaration).split("|")
        values[name] = parts[4].strip() if len(parts) > 4 else ""
    return {**values, **given}


def network_values(template: dict, network_ids: dict[str, int]) -> list[dict[str, dict[str, str]]]:
    """`networks_values` of an instantiation: each network of the template is the cloud's network of that name."""
    absent = [name for name in template["networks"] if name not in network_ids]
    if absent:
        raise ServiceError(f"the cloud has no network {', '.join(absent)}; it has {', '.join(network_ids)}")
    return [{name: {"id": str(network_ids[name])}} for name in template["networks"]]


def worker_policies(template: dict) -> list[dict]:
    """The elasticity policies of role worker, in the order OneFlow tries them."""
    return next(role for role in template["roles"] if role["name"] == "worker")["elasticity_policies"]
