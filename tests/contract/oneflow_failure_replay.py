# SPDX-License-Identifier: GPL-3.0-or-later
"""Replay of the service whose new worker does not boot: running, shrinking, failing, recovered, removed."""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.contract.oneflow_bench import Bench, without_times
from tests.contract.oneflow_comparisons import Comparison
from tests.contract.oneflow_names import Names
from tests.contract.recorded import load

RUNNING = "oneflow-service-running.json"
FAILURES = "oneflow-failures.json"
SERVICE_TERMINATING = "onegate-service-while-terminating.json"
VM_TERMINATING = "onegate-vm-while-terminating.json"

#: What OneFlow adds to a template's roles and to the body of a service.
OF_ROLES = ("state", "nodes", "on_hold", "template_contents", "last_vmname", "scale_way")
OF_POLICIES = ("last_eval", "true_evals", "expression_evaluated")
OF_SERVICES = ("registration_time", "state", "start_time", "log")


def template_of(body: dict[str, Any]) -> dict[str, Any]:
    """The template that a recorded service was made from."""
    template = {name: copy.deepcopy(value) for name, value in body.items() if name not in OF_SERVICES}
    for role in template["roles"]:
        for name in OF_ROLES:
            role.pop(name, None)
        for policy in role.get("elasticity_policies") or []:
            for name in OF_POLICIES:
                policy.pop(name, None)
        if "elasticity_policies" not in role:
            del role["cooldown"]
    return template


def failing_worker(seed: int) -> list[Comparison]:
    names = Names(seed)
    bench = Bench(names, "12:24:50")
    running, failures = load(RUNNING), load(FAILURES)
    bench.oneflow.start()
    template = bench.oneflow.create_template(names.value(template_of(running["DOCUMENT"]["TEMPLATE"]["BODY"])))
    bench.at("12:25:16")
    action = {"action": {"perform": "instantiate", "params": {"merge_template": {}}}}
    bench.flow("POST", f"/service_template/{template}/action", action)
    names.documents[1] = template + 1
    path = names.text("/service/1")
    for vm_id in (1, 2, 3, 4):
        bench.clock.advance(1)
        bench.publish(vm_id, "READY=YES")
    # a value for each worker's own VM, in any order
    for vm_id, line in names.shuffled(
        (vm_id, line) for vm_id in (3, 4) for line in ("SLURM_PENDING=0", "OLDEST_IDLE=0")
    ):
        bench.publish(vm_id, line)
    bench.at("12:25:42")
    answer = json.loads(bench.flow("GET", path).body)
    found = [Comparison(RUNNING, "whole", without_times(names.value(running)), without_times(answer))]

    bench.hypervisor.obeys = False
    for vm_id in names.shuffled((3, 4)):
        bench.publish(vm_id, "OLDEST_IDLE=1")
    bench.until_tick()
    for recording, gate_path in ((SERVICE_TERMINATING, "/service"), (VM_TERMINATING, names.text("/vms/3"))):
        response = bench.gate("GET", gate_path, names.vm(2))
        answer = json.loads(response.body) if response.status == 200 else response
        found.append(Comparison(recording, "whole", names.value(load(recording)), answer))
    bench.clock.advance(7)
    bench.hypervisor.obeys = True
    bench.hypervisor.power_off(f"vm-{names.vm(3)}")
    bench.clock.advance(7)

    bench.cloud.set_conditions(failing_boots=1)
    bench.publish(4, "SLURM_PENDING=1")
    bench.clock.advance(22)
    for index, exchange in enumerate(failures):
        recorded = _without_flips(bench.recorded_answer(_with_content_type(exchange)))
        found.append(Comparison(FAILURES, str(index), recorded, _without_flips(_replay(bench, exchange))))
        # recovering takes a cooldown, removing the time of three shutdowns
        bench.clock.advance(8)
    return found


def _with_content_type(exchange: dict[str, Any]) -> dict[str, Any]:
    return {**exchange, "content_type": exchange.get("content_type")}


def _replay(bench: Bench, exchange: dict[str, Any]) -> dict[str, Any]:
    path = bench.names.text(exchange["path"])
    if exchange.get("server") == "oneflow":
        return bench.answer(bench.flow(exchange["method"], path, exchange["request"]))
    caller = bench.names.vm(int(exchange["request_headers"]["X-ONEGATE-VMID"]))
    return bench.answer(bench.gate(exchange["method"], path, caller, exchange["request_body"].encode()))


def _without_flips(answer: dict[str, Any]) -> dict[str, Any]:
    """After a cooldown OneFlow looks at every VM in a thread of its own, so that RUNNING and WARNING may alternate
    within that second before they settle: one alternation stands for any number of them.
    """
    content = answer["content"]
    if not isinstance(content, dict):
        return answer
    body = content["DOCUMENT"]["TEMPLATE"]["BODY"]
    flip = ["New state: RUNNING", "New state: WARNING"]
    kept: list[Any] = []
    for entry in body["log"]:
        kept.append(entry)
        if [item["message"] for item in kept[-4:]] == flip * 2:
            del kept[-2:]
    body["log"] = kept
    return answer
