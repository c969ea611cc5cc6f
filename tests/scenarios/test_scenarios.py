# SPDX-License-Identifier: GPL-3.0-or-later
"""Molecule's scenarios."""

from __future__ import annotations


def test_action(log, scenario, action):
    assert log.result(scenario, action) == "Successful"
