# SPDX-License-Identifier: GPL-3.0-or-later
"""Replays of the recordings that need no history: templates, their validation, one service with a network."""

from __future__ import annotations

from typing import Any

from tests.contract.oneflow_bench import WRONG_AUTHORIZATION, Bench, without_times
from tests.contract.oneflow_comparisons import Comparison
from tests.contract.oneflow_names import Names
from tests.contract.recorded import load

CREATE = "oneflow-create.json"
VALIDATION = "oneflow-template-validation.json"
NETWORKS = "oneflow-networks-and-parent-values.json"


def templates(seed: int) -> list[Comparison]:
    """Requests of independent clients, in any order; only an instance needs its template."""
    names = Names(seed)
    bench = Bench(names)
    exchanges = load(CREATE)
    order = names.shuffled(range(len(exchanges)))
    cases = {exchange["case"]: index for index, exchange in enumerate(exchanges)}
    # the list is empty until there is a service, and a service needs its template
    for early, late in (("list_empty", "instantiate"), ("create", "instantiate")):
        first, second = order.index(cases[early]), order.index(cases[late])
        if first > second:
            order[first], order[second] = order[second], order[first]
    if order.index(cases["create"]) > order.index(cases["instantiate"]):
        order.remove(cases["instantiate"])
        order.append(cases["instantiate"])
    found: list[Comparison] = []
    expected_id = bench.oneflow.create_template({"name": "x", "roles": []}) + 1
    for index in order:
        exchange = exchanges[index]
        authorization = {"authorization": WRONG_AUTHORIZATION} if exchange["case"] == "no_auth" else {}
        request = names.value(exchange["request"])
        response = bench.flow(exchange["method"], names.text(exchange["path"]), request, **authorization)
        if isinstance(exchange["response"], dict) and "DOCUMENT" in exchange["response"]:
            # one counter for both kinds, and a refused request takes no number of it
            names.documents[int(exchange["response"]["DOCUMENT"]["ID"])] = expected_id
            expected_id += 1
        recorded = bench.recorded_answer(exchange)
        found.append(Comparison(CREATE, str(index), recorded, bench.answer(response)))
        if response.status == 201 and exchange["path"] == "/service_template":
            stored = bench.flow("GET", f"/service_template/{expected_id - 1}")
            found.append(Comparison(CREATE, str(index), recorded["content"], bench.answer(stored)["content"]))
    return found


def validation(seed: int) -> list[Comparison]:
    """Each entry is one attempt to create a template; what was stored is read again."""
    names = Names(seed)
    bench = Bench(names)
    attempts = load(VALIDATION)
    found: list[Comparison] = []
    for index in names.shuffled(range(len(attempts))):
        attempt = attempts[index]
        policy = {"type": "CHANGE", "adjust": 1, "expression": attempt.get("expression", "A > 0")}
        role = {"name": "w", "type": "vm", "template_id": 0, "cardinality": 1, "min_vms": 1, "max_vms": 3}
        change = attempt.get("template_change", {"elasticity_policies": [policy]})
        request = names.value({"name": "slurm", "roles": [{**role, **change}]})
        response = bench.flow("POST", "/service_template", request)
        stored = [item.body["roles"][0].get("elasticity_policies") for item in bench.oneflow.templates.values()][-1:]
        answer = {"status": response.status, "text": response.body if response.status >= 400 else ""}
        recorded: dict[str, Any] = {"status": attempt["status"], "text": names.text(attempt["response"])}
        if attempt["status"] == 201 and "expression" in attempt:
            recorded["stored"] = [request["roles"][0]["elasticity_policies"]]
            answer["stored"] = stored
        found.append(Comparison(VALIDATION, str(index), recorded, answer))
    return found


def networks_and_parent_values(seed: int) -> list[Comparison]:
    """A service with a network and values of its parent, without the gate."""
    names = Names(seed)
    found: list[Comparison] = []
    for index, case in enumerate(load(NETWORKS)):
        first_vm = case["final_body"]["roles"][0]["nodes"][0]["deploy_id"]
        bench = Bench(names, nic=False, first_vm=first_vm)
        template = bench.oneflow.create_template(names.value(case["template"]))
        name = names.text(case["final_body"]["name"])
        action = {"action": {"perform": "instantiate", "params": {"merge_template": {"name": name}}}}
        bench.flow("POST", f"/service_template/{template}/action", action)
        names.documents[23] = template + 1
        bench.clock.advance(60)
        body = bench.oneflow.service(template + 1).body
        recorded = without_times(names.value(case["final_body"]))
        found.append(Comparison(NETWORKS, str(index), recorded, without_times(body)))
        found += _values_of_the_parent(bench, index, recorded)
    return found


def _values_of_the_parent(bench: Bench, index: int, recorded: dict[str, Any]) -> list[Comparison]:
    """What was measured beside the recording: each value arrived as attribute and in CONTEXT."""
    storage, worker = ([bench.cloud.vms.get(node["deploy_id"]) for node in role["nodes"]] for role in recorded["roles"])
    address = storage[0].template["NIC"][0]["IP"]
    attribute = bench.names.text("STORAGE_IP")
    return [
        Comparison(
            NETWORKS,
            str(index),
            [address, address, "_NIC0", {"ROLE_NAME": vm.role_name, "SERVICE_ID": str(vm.service_id)}],
            [
                vm.attribute(attribute),
                vm.template["CONTEXT"].get("STORAGE"),
                vm.template["NIC"][0]["NAME"],
                {name: vm.attribute(name) for name in ("ROLE_NAME", "SERVICE_ID")},
            ],
        )
        for vm in worker
    ]
