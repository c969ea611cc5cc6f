# SPDX-License-Identifier: GPL-3.0-or-later
"""A test outside the simulator's process makes the cloud go wrong, and OneFlow go on."""

from __future__ import annotations

import subprocess

import pytest

from tests.opennebula.client import Client, ClientError
from tests.opennebula.states import ServiceState
from tests.unit.opennebula.scenario import CONTEXT, NETWORKS, service_template
from tests.unit.opennebula.test_simulator_process import eventually, process, put

__all__ = ["process"]


def test_conditions_scaling_and_recovery(process: tuple[subprocess.Popen[bytes], Client]) -> None:  # noqa: F811
    _, client = process
    template_id = client.create_vm_template({"NAME": "host", "MEMORY": "1024", "CONTEXT": CONTEXT})
    wanted = service_template(template_id, elasticity_policies=[], cooldown=0)
    service_id = client.instantiate(client.create_service_template(wanted), networks_values=NETWORKS)

    def state() -> int:
        return client.service(service_id)["DOCUMENT"]["TEMPLATE"]["BODY"]["state"]

    for vm_id in (0, 1, 2):
        eventually(lambda vm_id=vm_id: len(client.vms()) > vm_id)
        put(client, vm_id, "READY=YES")
    eventually(lambda: state() == ServiceState.RUNNING)

    assert client.set_conditions(host_slots=3)["host_slots"] == 3
    client.scale(service_id, "worker", 2)
    client.restart_oneflow()
    assert (state(), client.vm(3)["STATE"]) == (ServiceState.SCALING, 1)
    client.set_conditions(host_slots=None)
    eventually(lambda: client.vm(3)["LCM_STATE"] == 3)
    client.recover(service_id, delete=True)
    with pytest.raises(ClientError, match="no condition is called weather"):
        client.set_conditions(weather="bad")

    def is_gone() -> bool:
        try:
            return not state()
        except ClientError as error:
            return error.status == 404

    eventually(is_gone)
