# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever ends in the midst of a tick, nothing of it stays, and the next tick runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.unit.tick.runner_host import children, is_alive, resident_kib, wait_for

COLD = "it runs cold."
# Ansible's worker, a child that has left its session, and one that ignores what asks it to end.
HANGS = """\
    commands = [['setsid', 'sleep', '1000'], ['sh', '-c', 'trap "" TERM; sleep 999']]
    children = [subprocess.Popen(command) for command in commands]
    with open('{root}/new', 'w') as file:
        print(os.getpid(), os.getppid(), *[child.pid for child in children], file=file)
    os.rename('{root}/new', '{root}/pids')
    time.sleep(1000)
"""


def begin_hanging(host):
    """A tick that hangs, and the processes that it consists of."""
    host.act(HANGS.format(root=host.root))
    tick = host.begin_tick()
    pids = host.root / "pids"
    wait_for(pids.exists)
    return tick, [int(pid) for pid in pids.read_text().split()]


def assert_next_tick_is_warm(host):
    host.act("    return {}")
    status, output, errors = host.tick()
    assert (status, errors) == (0, ""), output


def test_client_that_is_killed(host):
    tick, pids = begin_hanging(host)
    tick.kill()
    wait_for(lambda: not any(map(is_alive, pids)))
    tick.communicate()
    assert_next_tick_is_warm(host)


def test_unit_that_is_stopped_ends_after_its_tick(host):
    tick, pids = begin_hanging(host)
    tick.terminate()
    tick.communicate(timeout=10)
    assert [pid for pid in pids if is_alive(pid)] == []
    assert tick.returncode == 128 + signal.SIGTERM
    assert_next_tick_is_warm(host)


def test_other_ticks_stay_when_one_is_stopped(host):
    host.act(f"    open('{host.root}/there', 'w').close()\n    time.sleep(2)\n    return {{}}")
    other = host.begin_tick()
    wait_for((host.root / "there").exists)
    tick, _pids = begin_hanging(host)
    tick.terminate()
    tick.communicate(timeout=10)
    output, errors = other.communicate(timeout=30)
    assert (other.returncode, errors) == (0, ""), output


@pytest.mark.parametrize(
    ("crash", "status"),
    [("os.kill(os.getppid(), signal.SIGKILL)", 128 + signal.SIGKILL), ("os._exit(7)", 1)],
    ids=["playbook killed", "Ansible's worker crashes"],
)
def test_crash_in_a_tick(host, crash, status):
    host.act(f"    subprocess.Popen(['setsid', 'sleep', '1001'])\n    {crash}\n    time.sleep(1000)")
    got, output, errors = host.tick()
    assert got == status, output + errors
    wait_for(lambda: children(host.runner.pid) == [])
    assert_next_tick_is_warm(host)


def test_left_behind_process_does_not_hold_the_tick_and_is_ended(host):
    host.act(
        "    child = subprocess.Popen(['setsid', 'sleep', '1002'])\n"
        f"    open('{host.root}/pid', 'w').write(str(child.pid))\n"
        "    return {}"
    )
    status, output, errors = host.tick()
    assert (status, errors) == (0, ""), output
    wait_for(lambda: not is_alive(int((host.root / "pid").read_text())))


def test_without_a_runner_it_runs_cold(cold_host):
    status, output, errors = cold_host.tick()
    assert (status, output.count("PLAY RECAP"), errors.count("\n")) == (0, 1, 1)
    assert COLD in errors
    assert "No such file or directory" in errors


def test_killed_runner_is_done_without(host):
    host.end_runner(signal.SIGKILL)
    status, output, errors = host.tick()
    assert (status, output.count("PLAY RECAP")) == (0, 1)
    assert "Connection refused" in errors


def test_runner_that_hangs_is_done_without_and_runs_nothing_later(host):
    host.act(f"    open('{host.root}/runs', 'a').write('.')\n    return {{}}")
    host.runner.send_signal(signal.SIGSTOP)
    status, _output, errors = host.tick()
    assert (status, COLD in errors) == (0, True)
    host.runner.send_signal(signal.SIGCONT)
    assert_next_tick_is_warm(host)
    assert (host.root / "runs").read_text() == "."


def test_runner_that_is_killed_under_a_tick_takes_it_along(host):
    tick, pids = begin_hanging(host)
    host.end_runner(signal.SIGKILL)
    _output, errors = tick.communicate(timeout=10)
    assert (tick.returncode, "in the midst of this tick" in errors) == (1, True)
    wait_for(lambda: not is_alive(pids[1]))
    for pid in pids:  # its control group ends what is left, on a host
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def test_other_settings_of_ansible_are_taken_cold(host):
    status, output, errors = host.tick(ANSIBLE_STDOUT_CALLBACK="ansible.builtin.oneline")
    assert (status, "PLAY RECAP" in output) == (0, False)
    assert "its ANSIBLE_STDOUT_CALLBACK differs" in errors


def test_fifty_ticks_leave_nothing(host):
    def open_files():
        return len(os.listdir(f"/proc/{host.runner.pid}/fd"))

    def temporary_files():
        return sorted(str(path) for path in Path(host.root, "ansible").rglob("*") if path.is_file())

    assert_next_tick_is_warm(host)
    wait_for(lambda: children(host.runner.pid) == [])
    before, memory = (open_files(), temporary_files()), resident_kib(host.runner.pid)
    for _ in range(50):
        status, output, errors = host.tick()
        assert (status, errors) == (0, ""), output
    wait_for(lambda: children(host.runner.pid) == [])
    assert (open_files(), temporary_files()) == before
    assert resident_kib(host.runner.pid) < memory + 2048
    assert resident_kib(host.runner.pid) < 100 * 1024
    assert "begins anew" not in host.log.read_text()


def test_programs_that_it_has_loaded_are_watched(host):
    program = host.root / "tick-runner"
    pid = host.runner.pid
    program.write_text(program.read_text() + "\n# an upgrade\n")
    assert host.tick()[0] == 0
    assert "tick-runner has changed" in host.log.read_text()
    wait_for(host.has_begun)
    assert host.runner.poll() is None
    assert host.runner.pid == pid
    assert_next_tick_is_warm(host)


def test_runner_begins_anew_after_many_ticks(cold_host):
    program = cold_host.root / "tick-runner"
    few = (
        "from ansible_collections.onehpc.ondemand.plugins.module_utils import tick_runner\n"
        "tick_runner.TICKS_BEFORE_RENEWAL = 2\n"
    )
    program.write_text(program.read_text().replace("warm_playbook.settle()", f"{few}warm_playbook.settle()"))
    cold_host.start_runner()
    pid = cold_host.runner.pid
    for _ in range(2):
        assert_next_tick_is_warm(cold_host)
    wait_for(lambda: "begins anew: 2 ticks have run" in cold_host.log.read_text())
    wait_for(cold_host.has_begun)
    assert_next_tick_is_warm(cold_host)
    assert (cold_host.runner.pid, cold_host.runner.poll()) == (pid, None)
