# SPDX-License-Identifier: GPL-3.0-or-later
"""A OneGate on loopback."""

from __future__ import annotations

import pytest

from tests.unit.plugins.onegate_double import OneGateDouble


@pytest.fixture
def onegate():
    double = OneGateDouble()
    yield double
    double.close()
