# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time and memory of commands, and of what a runner does for them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.judgement import Cost

# The kernel tells another process's time in hundredths of a second: several ticks share the error.
WARM_TICKS_AT_ONCE = 3
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A command that was to be measured did not end well."""


def cost_of(argv: Sequence[str], environment: Mapping[str, str], cwd: Path, expected: str = "") -> Cost:
    """Run a command; Failed when it does not exit 0 or its output does not hold `expected`."""
    with subprocess.Popen(
        [str(part) for part in argv],
        env=dict(environment),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        output = process.stdout.read()
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or expected not in output:
        raise Failed(f"{argv[0]} ended with {process.returncode}:\n{output}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def warm_cost_of(
    argv: Sequence[str], environment: Mapping[str, str], cwd: Path, runner_pid: int, expected: str
) -> Cost:
    """The same for a command that a runner serves: client, runner, its children and all that they have started.

    memory_mib is what the runner keeps. Its children share most of their memory with it.
    """
    before = _cpu_seconds(runner_pid)
    clients = [cost_of(argv, environment, cwd, expected) for _ in range(WARM_TICKS_AT_ONCE)]
    served = _cpu_seconds(runner_pid) - before
    if served <= 0:
        raise Failed("the runner has done nothing: the tick ran cold")
    cpu_seconds = (served + sum(client.cpu_seconds for client in clients)) / WARM_TICKS_AT_ONCE
    return Cost(cpu_seconds, _resident_mib(runner_pid))


def _cpu_seconds(pid: int) -> float:
    """Of a process and of the children that it has reaped."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND


def _resident_mib(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024
