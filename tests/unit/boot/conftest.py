# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that boots, and its OneGate on loopback."""

from __future__ import annotations

import pytest

from tests.unit.boot.launcher import Host
from tests.unit.plugins.onegate_double import OneGateDouble


@pytest.fixture
def onegate():
    double = OneGateDouble()
    yield double
    double.close()


@pytest.fixture
def host(tmp_path, onegate):
    return Host(tmp_path, onegate.endpoint)
