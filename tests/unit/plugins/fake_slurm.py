# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol and squeue on PATH: they replay recorded bytes, note every call, and answer changes as Slurm does.

Run as a program (under the names scontrol and squeue) this file is the fake itself; imported, it sets one up. munge
and unmunge are beside them, in good order until a test writes others there.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

STATE_FILE = "state.json"
LOG_FILE = "calls.jsonl"
UNREACHABLE = "Unable to contact slurm controller (connect failure)"


class FakeSlurm:
    """A directory for PATH. Nodes are records as scontrol prints them; jobs are squeue's recorded bytes."""

    def __init__(self, directory: Path):
        self.directory = directory
        directory.mkdir()
        for name in ("scontrol", "squeue"):
            program = directory / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {Path(__file__).resolve()} {name} "$@"\n')
            program.chmod(0o755)
        self.program("munge", "echo credential")
        self.program("unmunge", "grep -q credential")
        self.change(ping="UP", nodes={}, jobs="", version="22.05", faults={}, busy=[], full=False)

    def program(self, name: str, command: str) -> None:
        """Put a program on PATH that runs this shell command."""
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{command}\n")
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """What a child process needs to find the fake, with settings of clients that must not matter."""
        path = f"{self.directory}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "SQUEUE_FORMAT": "%i", "SLURM_TIME_FORMAT": "relative", "SLURM_CONF": "/dev/null"}

    @property
    def state(self) -> dict:
        return json.loads((self.directory / STATE_FILE).read_text())

    def change(self, **changes) -> None:
        """Change what is replayed. faults: beginning of a command to [return code, stdout, stderr, seconds]."""
        path = self.directory / STATE_FILE
        state = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**state, **changes}))

    def replay(self, nodes: bytes, jobs: bytes) -> None:
        """Let the recorded answers of `scontrol show node` and `squeue` be the present state."""
        records = [line for line in nodes.decode().splitlines() if line.startswith("NodeName=")]
        self.change(
            nodes={re.match(r"NodeName=(\S+)", record).group(1): record for record in records},
            jobs=jobs.decode("latin-1"),
        )

    def set_job_lines(self, *records: list[str]) -> None:
        """Jobs made by hand: each a list of the 23 columns."""
        self.change(jobs="".join("\x1f".join(record) + "\x1e4f1c2a\n" for record in records))

    def rewrite_node(self, name: str, old: str, new: str) -> None:
        """Replace a part of a node's record."""
        nodes = self.state["nodes"]
        assert old in nodes[name], nodes[name]
        nodes[name] = nodes[name].replace(old, new)
        self.change(nodes=nodes)

    def node(self, name: str) -> str:
        """The record of a node, "" when there is none."""
        return self.state["nodes"].get(name, "")

    def calls(self) -> list[str]:
        """Every command since the last time this was asked, squeue without its long format."""
        log = self.directory / LOG_FILE
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        commands = [json.loads(line)["argv"] for line in lines]
        return [" ".join(argv[:6] if argv[0] == "squeue" else argv) for argv in commands]

    def environments(self) -> list[dict]:
        """The Slurm settings in the environment of each call."""
        return [json.loads(line)["environment"] for line in (self.directory / LOG_FILE).read_text().splitlines()]


def _main(argv: list[str]) -> int:
    directory = Path(os.environ["PATH"].split(os.pathsep)[0])
    settings = {name: value for name, value in os.environ.items() if name.startswith(("SLURM_", "SQUEUE_", "LC_"))}
    with (directory / LOG_FILE).open("a") as log:
        log.write(json.dumps({"argv": argv, "environment": settings}) + "\n")
    state = json.loads((directory / STATE_FILE).read_text())
    for beginning, (return_code, stdout, stderr, seconds) in state["faults"].items():
        if " ".join(argv).startswith(beginning):
            time.sleep(seconds)
            return _print(return_code, stdout, stderr)
    if argv[0] == "squeue":
        return _squeue(argv, state)
    words = [word for word in argv[1:] if not word.startswith("-")]
    if words == ["show", "slurmd"]:
        return _print(0, "Active Steps             = NONE\n")
    if words[0] == "ping":
        return _print(0 if state["ping"] == "UP" else 1, f"Slurmctld(primary) at ctl is {state['ping']}\n")
    if state["ping"] != "UP":
        return _print(1, "", f"slurm_load_node error: {UNREACHABLE}\n")
    result = _COMMANDS[words[0]](words[1:], state, "-F" in argv)
    (directory / STATE_FILE).write_text(json.dumps(state))
    return result


def _print(return_code: int, stdout: str = "", stderr: str = "") -> int:
    sys.stdout.write(stdout)
    sys.stderr.write(stderr)
    return return_code


def _squeue(argv: list[str], state: dict) -> int:
    if state["ping"] != "UP":
        return _print(1, "", f"slurm_load_jobs error: {UNREACHABLE}\n")
    token = argv[argv.index("-O") + 1].split("\x1e")[-1]
    sys.stdout.buffer.write(state["jobs"].encode("latin-1").replace(b"\x1e4f1c2a\n", b"\x1e" + token.encode() + b"\n"))
    return 0


def _show(words: list[str], state: dict, with_future: bool) -> int:
    nodes = {name: text for name, text in state["nodes"].items() if with_future or "State=FUTURE" not in text}
    if words[1:]:
        if words[1] not in nodes:
            return _print(1, f"Node {words[1]} not found\n")
        return _print(0, nodes[words[1]] + "\n")
    return _print(0, "".join(text + "\n" for text in nodes.values()) or "No nodes in the system\n")


def _update(words: list[str], state: dict, _with_future: bool) -> int:
    given = dict(word.split("=", 1) for word in words)
    name, wanted = given["nodename"], given.get("state")
    if name not in state["nodes"]:
        return _print(1, "", "slurm_update error: Invalid node name specified\n")
    text = state["nodes"][name]
    if wanted in ("drain", "down") and "reason" not in given:
        return _print(1, "", "You must specify a reason when DOWNING or DRAINING a node. Request denied\n")
    if wanted == "undrain":
        text = re.sub(r"\+DRAIN\b", "", re.sub(r" Reason=.*", "", text))
    if wanted == "drain" and "+DRAIN" not in text:
        text = re.sub(r"State=([A-Z]+)", r"State=\1+DRAIN", text)
    if wanted == "down":
        text = re.sub(r"State=[A-Z]+", "State=DOWN", text)
        state["jobs"] = ""
    if "reason" in given:
        text = re.sub(r" Reason=.*", "", text) + f" Reason={given['reason']} [root@{int(time.time())}]"
    state["nodes"][name] = text
    return 0


def _delete(words: list[str], state: dict, _with_future: bool) -> int:
    name = words[0].split("=", 1)[1]
    first = f"scontrol: error: failed to delete nodes {name}\n"
    if name not in state["nodes"]:
        return _print(1, "", f"{first}delete_node nodename={name}: Invalid node name specified\n")
    if name in state["busy"]:
        return _print(1, "", f"{first}delete_node nodename={name}: Requested nodes are busy\n")
    del state["nodes"][name]
    return 0


def _create(words: list[str], state: dict, _with_future: bool) -> int:
    given = dict(word.split("=", 1) for word in words)
    if state["full"]:
        return 0  # 22.05 says nothing
    name = given["NodeName"]
    state["nodes"][name] = (
        f"NodeName={name} CoresPerSocket=1  CPUAlloc=0 CPUEfctv={given['CPUs']} CPUTot={given['CPUs']} CPULoad=N/A "
        f"AvailableFeatures={given['Feature']} ActiveFeatures={given['Feature']} Gres={given.get('Gres', '(null)')} "
        f"NodeAddr={name} NodeHostName={name}  RealMemory={given['RealMemory']} AllocMem=0 FreeMem=N/A Boards=1 "
        "State=FUTURE+DYNAMIC_NORM ThreadsPerCore=1 Partitions=main  BootTime=None LastBusyTime=Unknown"
    )
    return 0


_COMMANDS = {"show": _show, "update": _update, "delete": _delete, "create": _create}

if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
