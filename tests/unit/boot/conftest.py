# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that boots."""

from __future__ import annotations

import pytest

from tests.unit.boot.launcher import Host


@pytest.fixture
def host(tmp_path, onegate):
    return Host(tmp_path, onegate.endpoint)
