# SPDX-License-Identifier: GPL-3.0-or-later
"""The service is instantiated from the collection's own templates, with the numbers of the contract."""

from __future__ import annotations

import pytest

from tests.service.progress import ServiceError
from tests.service.service_template import (
    booting_from,
    input_values,
    network_values,
    service_template,
    vm_template,
    worker_policies,
)


def test_each_role_boots_from_the_registered_template_and_waits_for_its_parents():
    roles = {role["name"]: role for role in booting_from(service_template(), 7)["roles"]}
    assert {name: role["template_id"] for name, role in roles.items()} == {"storage": 7, "portal": 7, "worker": 7}
    assert roles["portal"]["parents"] == ["storage"]
    assert sorted(roles["worker"]["parents"]) == ["portal", "storage"]
    assert (roles["worker"]["min_vms"], roles["worker"]["max_vms"], roles["worker"]["cardinality"]) == (1, 6, 1)


def test_the_rules_of_the_pool_have_the_numbers_of_the_contract():
    grow, shrink = worker_policies(service_template())
    assert (grow["expression"], grow["adjust"]) == ("SLURM_PENDING > 0", 1)
    assert (grow["period_number"], grow["cooldown"]) == (2, 120)
    assert (shrink["expression"], shrink["adjust"]) == ("OLDEST_IDLE > 0.99", -1)
    assert (shrink["period"], shrink["period_number"], shrink["cooldown"]) == (60, 2, 300)


def test_every_value_of_a_role_reaches_its_guests_through_the_context():
    context = vm_template()["CONTEXT"]
    given = {name for role in service_template()["roles"] for name in role["template_contents"]}
    assert {name: context.get(name) for name in given if name.startswith("ONEAPP_")} == {
        name: f"${name}" for name in given if name.startswith("ONEAPP_")
    }


def test_a_service_without_first_boot_masks_its_unit_and_waits_for_nobody():
    assert vm_template(first_boot=False)["OS"] == {"KERNEL_CMD": "systemd.mask=onehpc-first-boot.service"}
    template = service_template(first_boot=False)
    assert template["ready_status_gate"] is False
    assert not any("elasticity_policies" in role for role in template["roles"])
    assert (service_template()["ready_status_gate"], "OS" in vm_template()) == (True, False)


def test_declared_inputs_get_their_default_or_what_is_given():
    template = {"user_inputs": {"A": "M|number|Seconds| |600", "B": "O|text|Shapes", "C": "O|text|Other| | "}}
    assert input_values(template, {"A": "30", "D": "x"}) == {"A": "30", "B": "", "C": "", "D": "x"}
    assert input_values({}, {}) == {}


def test_networks_are_chosen_by_name():
    template = service_template()
    values = network_values(template, {"Management": 4, "Compute": 9, "Other": 1})
    assert values == [{"Management": {"id": "4"}}, {"Compute": {"id": "9"}}]
    with pytest.raises(ServiceError, match="no network Compute"):
        network_values(template, {"Management": 4})
