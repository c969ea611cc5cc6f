# SPDX-License-Identifier: GPL-3.0-or-later
"""The service template of a simulated run: as the marketplace's, with the settings of the schedule."""

from __future__ import annotations

from typing import Any

from tests.simulation.schedule import RoleSettings, Settings


def vm_template() -> dict[str, Any]:
    """One VM template for all roles."""
    return {
        "NAME": "host",
        "CPU": "1",
        "MEMORY": "1024",
        "NIC": [{"NETWORK_ID": "0"}, {"NETWORK_ID": "1"}],
        "CONTEXT": {"NETWORK": "YES"},
    }


def service_template(template_id: int, settings: Settings) -> dict[str, Any]:
    """Storage, portal and the worker roles."""
    return {
        "name": "ondemand",
        "deployment": "straight",
        "ready_status_gate": True,
        "roles": [
            _role("storage", template_id),
            _role("portal", template_id, parents=["storage"]),
            *(_worker_role(template_id, role, settings) for role in settings.roles),
        ],
    }


def _role(name: str, template_id: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "vm", "template_id": template_id, "cardinality": 1, "min_vms": 1, **more}


def _worker_role(template_id: int, role: RoleSettings, settings: Settings) -> dict[str, Any]:
    grow = {
        "type": "CHANGE",
        "adjust": 1,
        "expression": "SLURM_PENDING > 0",
        "period": 30,
        "period_number": 2,
        "cooldown": settings.up_cooldown_seconds,
    }
    shrink = {
        "type": "CHANGE",
        "adjust": -1,
        "expression": "OLDEST_IDLE > 0.99",
        "period": 60,
        "period_number": 2,
        "cooldown": settings.down_cooldown_seconds,
    }
    return _role(
        role.name,
        template_id,
        parents=["storage", "portal"],
        cardinality=role.start,
        min_vms=role.minimum,
        max_vms=role.maximum,
        cooldown=settings.up_cooldown_seconds,
        elasticity_policies=[grow, shrink],
    )
