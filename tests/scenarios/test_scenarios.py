# SPDX-License-Identifier: GPL-3.0-or-later
"""Molecule's scenarios."""

from __future__ import annotations


def test_action(log, scenario, action):
    assert log.result(scenario, action) == "Successful"


def test_molecule_and_its_end_of_the_hosts_exit_well(log):
    assert log.exit_codes == [0, 0]
