# SPDX-License-Identifier: GPL-3.0-or-later
"""The context of a VM that may use the OneGate on loopback."""

from __future__ import annotations

import pytest

from tests.unit.plugins.onegate_double import TOKEN


@pytest.fixture
def one_env(tmp_path):
    """Path of the one_env of VM 2; its context names no endpoint and an own address as gateway."""
    path = tmp_path / "one_env"
    path.write_text(
        f'export TOKENTXT="{TOKEN}"\nexport VMID="2"\nexport ETH0_IP="127.0.0.2"\nexport ETH0_GATEWAY="127.0.0.2"\n'
    )
    return path


@pytest.fixture
def connection(onegate, one_env, tmp_path):
    """Module options that reach the double."""
    return {
        "endpoint": onegate.endpoint,
        "one_env": str(one_env),
        "endpoint_file": str(tmp_path / "endpoint"),
        "timeout_seconds": 5,
    }
