# SPDX-License-Identifier: GPL-3.0-or-later
"""Replay of one recorded session: a service with elastic workers from 11:58 to 12:10, then one without a gate.

Four recordings tell of it: the timeline of the first service, oneflow.log, the evaluated policies and the deletion.
The driver does what was done to the real servers, at the recorded times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tests.contract.oneflow_bench import DAY, Bench, seconds_of
from tests.contract.oneflow_comparisons import Comparison, in_order
from tests.contract.oneflow_names import Names
from tests.contract.recorded import load
from tests.opennebula.states import RoleState, ServiceState

TIMELINE = "oneflow-timeline.jsonl"
LOG = "oneflow-log.txt"
ELASTICITY = "oneflow-elasticity.json"
DELETE = "oneflow-delete.json"

#: Seconds; the recorder looked that often, and what lasts longer it must have seen.
LOOKED_EVERY = 1.5

GROW = {"type": "CHANGE", "adjust": 1, "expression": "SLURM_PENDING > 0", "cooldown": 20}
SHRINK = {"type": "CHANGE", "adjust": -1, "expression": "OLDEST_IDLE > 0.99", "cooldown": 20}


def _role(name: str, *parents: str, **more: Any) -> dict[str, Any]:
    role = {"name": name, "type": "vm", "template_id": 0, "cardinality": 1, "min_vms": 1, "parents": list(parents)}
    return {**role, **more}


GATED = {
    "name": "slurm",
    "deployment": "straight",
    "ready_status_gate": True,
    "roles": [
        _role("storage"),
        _role("portal", "storage"),
        _role("worker", "portal", max_vms=3, cooldown=20, elasticity_policies=[GROW, SHRINK]),
    ],
}
UNGATED = {
    "name": "slurm",
    "deployment": "straight",
    "roles": [
        _role(
            "worker",
            max_vms=4,
            cooldown=15,
            elasticity_policies=[{**GROW, "period_number": 3, "cooldown": 3}, {**SHRINK, "cooldown": 8}],
        )
    ],
}


class _Session:
    def __init__(self, seed: int) -> None:
        self.names = Names(seed)
        self.bench = Bench(self.names, "11:51:09")
        self.found: list[Comparison] = []
        self.steps = load(ELASTICITY)["evaluation"]

    def run(self) -> list[Comparison]:
        bench = self.bench
        bench.oneflow.start()
        bench.at("11:54:52")
        bench.oneflow.start()
        bench.at("11:58:23")
        self._instantiate(GATED, 3)
        self._deploy()
        self._grow_to_the_maximum()
        self._evaluate()
        self._shrink()
        self._both_rules()
        self._lose_workers()
        self._delete()
        bench.at("12:10:15")
        self._instantiate(UNGATED, 5)
        self._count_true_readings()
        self._compare()
        return self.found

    def _instantiate(self, template: dict[str, Any], recorded_id: int) -> None:
        created = self.bench.oneflow.create_template(self.names.value(template))
        action = {"action": {"perform": "instantiate", "params": {"merge_template": {}}}}
        response = self.bench.flow("POST", f"/service_template/{created}/action", action)
        assert response.status == 201, response
        self.names.documents[recorded_id] = created + 1

    def _publish(self, *lines: tuple[int, str]) -> None:
        """Updates of several VMs in any order."""
        for vm_id, line in self.names.shuffled(lines):
            self.bench.publish(vm_id, line)

    def _scale(self, cardinality: int, role: str = "worker") -> Any:
        request = {"role_name": self.names.text(role), "cardinality": cardinality, "force": False}
        return self.bench.flow("POST", self.names.text("/service/3/scale"), request)

    # --- the service with a gate ---

    def _deploy(self) -> None:
        bench = self.bench
        # neither of these is ready: small letters, and another VM's report
        bench.at("11:58:50")
        bench.publish(1, "READY=yes")
        for time_of_day, vm_id in (("11:59:08", 1), ("11:59:40", 2), ("11:59:45", 3)):
            bench.at(time_of_day)
            bench.publish(vm_id, "READY=YES")
        assert self._scale(0).status == 500
        assert self._scale(2, "nope").status == 500
        bench.at("12:00:08")
        # only VMs of the role count
        bench.publish(2, "SLURM_PENDING=1")

    def _grow_to_the_maximum(self) -> None:
        bench = self.bench
        bench.at("12:00:18")
        bench.publish(3, "SLURM_PENDING=1")
        bench.at("12:00:55")
        self._scale(3), self._scale(3)
        bench.publish(4, "READY=YES")
        bench.at("12:00:58")
        self._scale(3), self._scale(3)
        bench.at("12:01:50")
        bench.publish(5, "READY=YES")
        bench.at("12:02:16")

    def _evaluate(self) -> None:
        """One step every ten seconds, from the first reading after the growth."""
        for index, step in enumerate(self.steps):
            if index:
                for vm_id, line in step["published"]:
                    self.bench.publish(vm_id, line)
                self.bench.until_tick()
            body = self.bench.oneflow.service(self.names.document(3)).body
            seen = _shown(self.bench.seen[-1][2], self.names.text("worker"), with_expressions=True)
            assert body["state"] == self.bench.seen[-1][2]["state"]
            recorded = {name: step[name] for name in ("service_state", "role_state", "cardinality", "nodes")}
            recorded["policies"] = step["policies"]
            seen.pop("role_cooldown")
            self.found.append(Comparison(ELASTICITY, f"evaluation/{index}", self.names.value(recorded), seen))

    def _shrink(self) -> None:
        bench = self.bench
        bench.at("12:05:18")
        # the newest alone is idle, and the oldest goes
        for vm_id in self.names.shuffled((3, 4)):
            bench.forget(vm_id, "OLDEST_IDLE")
        bench.publish(5, "OLDEST_IDLE=1")
        bench.at("12:05:50")
        self._publish((4, "OLDEST_IDLE=0"), (5, "OLDEST_IDLE=0"))

    def _both_rules(self) -> None:
        bench = self.bench
        bench.at("12:07:07")
        assert self._scale(3).status == 204
        bench.at("12:07:10")
        bench.publish(6, "READY=YES")
        bench.at("12:07:32")
        self._publish(*((vm_id, line) for vm_id in (4, 5, 6) for line in ("SLURM_PENDING=2", "OLDEST_IDLE=1")))
        bench.at("12:08:10")
        bench.publish(7, "READY=YES")
        bench.at("12:08:32")
        self._publish(*((vm_id, line) for vm_id in (5, 6, 7) for line in ("SLURM_PENDING=0", "OLDEST_IDLE=0")))

    def _lose_workers(self) -> None:
        bench = self.bench
        bench.at("12:08:48")
        bench.terminate(6)
        bench.at("12:09:02")
        bench.publish(5, "SLURM_PENDING=9")
        bench.cloud.vms.poweroff(bench.vm(7))
        bench.at("12:09:18")
        bench.publish(5, "SLURM_PENDING=0")
        bench.cloud.vms.resume(bench.vm(7))
        bench.at("12:09:30")
        bench.terminate(5)
        bench.terminate(7)
        bench.at("12:09:40")
        bench.publish(8, "READY=YES")
        bench.at("12:09:43")
        bench.publish(8, "OLDEST_IDLE=1")
        bench.at("12:10:14")

    def _delete(self) -> None:
        names, bench = self.names, self.bench
        sent, during, after = load(DELETE)
        path = names.text(sent["path"])
        before = len(bench.seen)
        response = bench.flow(sent["method"], path)
        bench.clock.advance(1)
        self.found.append(Comparison(DELETE, "0", [sent["status"], sent["response"]], [response.status, response.body]))
        wanted = {"service_state": during["service_state"], "roles": names.value(during["roles"])}
        seen = [
            {
                "service_state": found["state"],
                "roles": [[role["name"], role["state"], len(role["nodes"])] for role in found["roles"]],
            }
            for _, _, found in bench.seen[before:]
        ]
        self.found += in_order(DELETE, ["1"], [wanted], seen)
        response = bench.flow("GET", path)
        recorded = [after["status"], names.text(after["response"])]
        self.found.append(Comparison(DELETE, "2", recorded, [response.status, response.body]))
        last = load(TIMELINE)[-1]
        recorded = [last["http"], names.text(last["body"])]
        number = str(len(load(TIMELINE)) - 1)
        self.found.append(Comparison(TIMELINE, number, recorded, [response.status, response.body]))

    # --- the service without a gate ---

    def _count_true_readings(self) -> None:
        bench = self.bench
        bench.at("12:10:23")
        bench.publish(9, "SLURM_PENDING=1")
        bench.at("12:11:23")
        bench.publish(9, "SLURM_PENDING=0")
        bench.at("12:11:32")
        self._publish(*((vm_id, "OLDEST_IDLE=1") for vm_id in (9, 10, 11)))
        bench.at("12:11:42")
        for vm_id in (10, 11):
            bench.forget(vm_id, "OLDEST_IDLE")
        bench.at("12:13:29")

    # --- what was seen ---

    def _compare(self) -> None:
        self._compare_timeline()
        self._compare_log()
        self._compare_policies()

    def _compare_timeline(self) -> None:
        lines = [line for line in load(TIMELINE) if "service" in line]
        recorded = [self.names.value(_timeline_shape(line)) for line in lines]
        seen = [(at, found) for at, service, found in self.bench.seen if service == self.names.document(3)]
        begin = seconds_of(lines[0]["clock"])
        states = [found for at, found in seen if at >= begin or found is _last_before(seen, begin)]
        self.found += in_order(TIMELINE, map(str, range(len(lines))), recorded, states)
        self._compare_lasting(TIMELINE, seen, recorded, begin)

    def _compare_lasting(
        self, recording: str, seen: list[tuple[float, dict[str, Any]]], recorded: list[Any], begin: float
    ) -> None:
        """The other direction: whatever lasted was recorded, in this order."""
        changes = [item for index, item in enumerate(seen) if not index or item[1] != seen[index - 1][1]]
        ends = [at for at, _ in changes[1:]]
        lasting = [
            found for (at, found), end in zip(changes, ends, strict=False) if end - at >= LOOKED_EVERY and end > begin
        ]
        position = 0
        for found in lasting:
            at = next((index for index in range(position, len(recorded)) if recorded[index] == found), None)
            wanted = found if at is not None else recorded[min(position, len(recorded) - 1)]
            # it belongs to the recorded entry that comes next
            self.found.append(Comparison(recording, str(position if at is None else at), wanted, found))
            position = position if at is None else at

    def _compare_log(self) -> None:
        recorded = _starts_sorted([_Line.recorded(line, self.names) for line in load(LOG)])
        seen = _starts_sorted(
            [
                _Line(line.time - DAY, _masked(f"[{line.severity}]: [{line.component}] {line.text}"))
                for line in self.bench.oneflow.server_log.lines
            ]
        )
        for index, line in enumerate(recorded):
            self.found.append(Comparison(LOG, str(index), line, seen[index] if index < len(seen) else None))
        if len(seen) > len(recorded):
            self.found.append(Comparison(LOG, str(len(recorded) - 1), None, seen[len(recorded)]))

    def _compare_policies(self) -> None:
        for section, service in (("both_policies_true", 3), ("vms_lost_or_off", 3), ("period_number", 5)):
            steps = load(ELASTICITY)[section]
            recorded = [
                self.names.value({name: value for name, value in step.items() if name not in ("label", "t")})
                for step in steps
            ]
            begin = {"both_policies_true": "12:07:07", "vms_lost_or_off": "12:08:47"}.get(section, "12:10:15")
            number = self.names.document(service)
            seen = [
                _shown(found, self.names.text("worker"))
                for at, of, found in self.bench.seen
                if of == number and at >= seconds_of(begin)
            ]
            entries = [f"{section}/{index}" for index in range(len(steps))]
            self.found += in_order(ELASTICITY, entries, recorded, seen)
        seen_5 = [
            (at, _shown(found, self.names.text("worker")))
            for at, of, found in self.bench.seen
            if of == self.names.document(5)
        ]
        self._compare_lasting_steps(seen_5, recorded)

    def _compare_lasting_steps(self, seen: list[tuple[float, Any]], recorded: list[Any]) -> None:
        before = len(self.found)
        self._compare_lasting(ELASTICITY, seen, recorded, 0)
        self.found[before:] = [
            Comparison(item.recording, f"period_number/{item.entry}", item.recorded, item.replayed)
            for item in self.found[before:]
        ]


def _last_before(seen: list[tuple[float, Any]], begin: float) -> Any:
    earlier = [found for at, found in seen if at < begin]
    return earlier[-1] if earlier else None


def _timeline_shape(line: dict[str, Any]) -> dict[str, Any]:
    return {
        "state": int(ServiceState[line["service"]]),
        "roles": [
            {
                "name": name,
                "state": int(RoleState[role["state"]]),
                "cardinality": role["cardinality"],
                "nodes": role["nodes"],
                "cooldown": role["cooldown"],
                "policies": role.get("policies", []),
            }
            for name, role in line["roles"].items()
        ],
    }


def _shown(found: dict[str, Any], role_name: str, with_expressions: bool = False) -> dict[str, Any]:
    """The shape of the evaluated policies' recording."""
    role = next(role for role in found["roles"] if role["name"] == role_name)
    return {
        "service_state": found["state"],
        "role_state": role["state"],
        "cardinality": role["cardinality"],
        "nodes": role["nodes"],
        "role_cooldown": role["cooldown"],
        "policies": [policy if with_expressions else policy[1:] for policy in role["policies"]],
    }


@dataclass(frozen=True, eq=False)
class _Line:
    """A line of oneflow.log. Two are equal when their times differ by no more than whole seconds and the time of
    OneFlow's own work explain.
    """

    seconds: float
    text: str

    @classmethod
    def recorded(cls, line: str, names: Names) -> _Line:
        time_of_day, _, text = line.removeprefix("Mon Nov 30 ").partition(" 2026 ")
        return cls(seconds_of(time_of_day), _masked(names.text(text)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Line) and self.text == other.text and abs(self.seconds - other.seconds) <= 3

    __hash__ = None  # type: ignore[assignment]


def _masked(line: str) -> str:
    """A VM that is ending may or may not have left RUNNING when OneFlow first looks at it."""
    return re.sub(r"\(ACTIVE,(RUNNING|SHUTDOWN)\)", "(ACTIVE,...)", line)


def _starts_sorted(lines: list[_Line]) -> list[_Line]:
    """Two threads write the two lines of a start, in any order."""

    def text(line: _Line) -> str:
        return line.text

    return sorted(lines[:2], key=text) + sorted(lines[2:4], key=text) + lines[4:]


def session(seed: int) -> list[Comparison]:
    return _Session(seed).run()
