# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit files that the roles write, rendered with the roles' own variables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.checks.argument_specs import roles
from tests.checks.environment import VENV_BIN, tool_environment
from tests.checks.unchanged_tasks import tasks
from tests.gates.command import output_of

UNIT_DIR = "/etc/systemd/system/"
COLLECTION = "onehpc.ondemand."
# Module that writes a file -> folder of its sources in a role, and the lookup that gives the content.
WRITERS = {"ansible.builtin.template": ("templates", "template"), "ansible.builtin.copy": ("files", "file")}
CALLS = ("ansible.builtin.import_role", "ansible.builtin.include_role")


@dataclass(frozen=True)
class Writing:
    """One file that a task writes. destination, source: as in the task, with its templates; variables: of the task."""

    of_role: str
    destination: str
    source: str
    lookup: str
    variables: dict


def rendered_units(root: Path, folder: Path) -> dict[str, str]:
    """Path below UNIT_DIR -> content of every unit and drop-in of the roles of a checkout; folder is for its work."""
    plays = [_play(root, role, folder) for role in roles(root)]
    (folder / "render.json").write_text(json.dumps([play for play in plays if len(play["tasks"]) > 1]))
    output_of([str(VENV_BIN / "ansible-playbook"), "render.json"], folder, tool_environment())
    units: dict[str, str] = {}
    for file in folder.glob("*.units"):
        units.update({unit["path"]: unit["content"] for unit in json.loads(file.read_text())})
    return {path.removeprefix(UNIT_DIR): text for path, text in units.items() if path.startswith(UNIT_DIR)}


def _play(root: Path, role: Path, folder: Path) -> dict:
    names = dict.fromkeys(["common", role.name])
    folders = [root / "roles" / name / kind for kind in ("defaults", "vars") for name in names]
    variables = [str(path) for values in folders for path in sorted(values.glob("**/*.yml"))]
    steps = [_step(writing) for writing in _writings(root) if writing.of_role == role.name]
    keep = {"ansible.builtin.copy": {"content": "{{ units | to_json }}", "dest": str(folder / f"{role.name}.units")}}
    return {"hosts": "localhost", "gather_facts": False, "vars_files": variables, "tasks": [*steps, keep]}


def _step(writing: Writing) -> dict:
    unit = f"{{'path': unit_path, 'content': lookup('{writing.lookup}', unit_source)}}"
    return {
        "vars": {**writing.variables, "unit_path": writing.destination, "unit_source": writing.source},
        "ansible.builtin.set_fact": {"units": f"{{{{ units | default([]) + [{unit}] }}}}"},
    }


def _writings(root: Path) -> Iterator[Writing]:
    """Each file that any task may write below UNIT_DIR, once for each way in which its task file is called."""
    calls = list(_calls(root))
    for role in roles(root):
        for path in sorted(role.glob("tasks/**/*.yml")):
            callers = [(caller, given) for caller, called, given in calls if called == (role.name, path.stem)]
            for task in tasks(path):
                for of_role, given in callers or [(role.name, {})]:
                    yield from _of_task(task, role, of_role, given)


def _of_task(task: dict, role: Path, of_role: str, given: dict) -> Iterator[Writing]:
    for module in WRITERS.keys() & task.keys():
        if UNIT_DIR not in json.dumps(task):
            continue
        folder, lookup = WRITERS[module]
        items = [{"item": item} for item in task["loop"]] if isinstance(task.get("loop"), list) else [{}]
        for item in items:
            variables = {**given, **task.get("vars", {}), **item}
            source = f"{role}/{folder}/{task[module]['src']}"
            yield Writing(of_role, task[module]["dest"], source, lookup, variables)


def _calls(root: Path) -> Iterator[tuple[str, tuple[str, str], dict]]:
    """(calling role, (called role, task file), variables) of each call that gives a task file variables."""
    for role in roles(root):
        for path in sorted(role.glob("tasks/**/*.yml")):
            for task in tasks(path):
                for call in CALLS:
                    called = task.get(call, {})
                    if "tasks_from" in called and "vars" in task:
                        target = called["name"].removeprefix(COLLECTION), Path(called["tasks_from"]).stem
                        yield role.name, target, task["vars"]
