# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role documents and validates exactly the variables it has."""

from __future__ import annotations

import pytest

from tests.checks.argument_specs import default_names, roles, specified_options
from tests.checks.environment import ROOT

ROLES = roles(ROOT)


def test_there_are_the_three_service_roles_and_what_they_share():
    assert {role.name for role in ROLES} >= {"common", "storage", "portal", "worker"}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_argument_specs_name_exactly_the_defaults(role):
    assert sorted(specified_options(role)) == sorted(default_names(role))


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_each_variable_has_the_prefix_of_its_role(role):
    assert [name for name in sorted(default_names(role)) if not name.startswith(f"{role.name}_")] == []


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_each_option_says_what_it_is(role):
    options = specified_options(role)
    assert [name for name, option in options.items() if not (option.get("description") and option.get("type"))] == []
