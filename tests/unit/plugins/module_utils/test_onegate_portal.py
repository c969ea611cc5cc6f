# SPDX-License-Identifier: GPL-3.0-or-later
"""The portal is the highest VM id of its role that runs; a read that fails is never "no portal"."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_portal import find_portal
from tests.unit.plugins.onegate_double import TOKEN, service_body, vm_body


@pytest.fixture
def client(onegate):
    return OneGateClient(onegate.endpoint, TOKEN, 2, timeout_seconds=5)


def test_highest_id_that_runs(client, onegate):
    onegate.service = service_body(portal=[12, 5, 9])
    onegate.vms.update({5: vm_body(5, "portal"), 9: vm_body(9, "portal"), 12: vm_body(12, "portal", lcm_state="2")})
    search = find_portal(client)
    assert (search.listed_vm_ids, search.vm.id) == ((12, 9, 5), 9)
    assert onegate.calls() == ["GET /service", "GET /vms/12", "GET /vms/9"]


def test_none_listed_and_none_running(client, onegate):
    onegate.service = service_body(portal=[])
    assert find_portal(client).listed_vm_ids == ()
    onegate.service = service_body(portal=[5])
    onegate.vms[5] = vm_body(5, "portal", state="8", lcm_state="0")
    search = find_portal(client)
    assert (search.listed_vm_ids, search.vm) == ((5,), None)


def test_failed_read_of_any_vm_is_an_error(client, onegate):
    onegate.service = service_body(portal=[5, 9])
    onegate.vms[5] = vm_body(5, "portal")
    with pytest.raises(OneGateError, match="400 to GET /vms/9"):
        find_portal(client)


def test_service_without_such_a_role_is_an_error(client):
    with pytest.raises(OneGateError, match=r"has no role gate \(it has: storage, portal, worker\)"):
        find_portal(client, "gate")
