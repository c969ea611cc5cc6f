# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own work (namespace, state, starting, stopping) with a process that stands for the guest's kernel."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checks.environment import ROOT
from tests.lab.__main__ import main
from tests.lab.addresses import network_context
from tests.lab.lab import HostSpec, Lab, LabError
from tests.lab.uml import processes_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace is made, which needs root")


@pytest.fixture(autouse=True)
def fake_kernel(tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy(Path(__file__).with_name("fake_guest.py"), programs / "linux.uml")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image.ext4"
    path.write_text("")
    return path


@pytest.fixture
def lab(tmp_path, image):
    made = Lab.create(tmp_path / "run", image)
    yield made
    made.destroy()


def spec(name, number=10, **context):
    return HostSpec(name, {"VMID": str(number), **network_context(number), **context}, token="dG9r")


def namespaces():
    return subprocess.run(["ip", "netns", "list"], text=True, capture_output=True, check=True).stdout


def links(lab):
    shown = subprocess.run(["ip", "-n", lab.namespace, "-brief", "link"], text=True, capture_output=True, check=True)
    return {line.split()[0] for line in shown.stdout.splitlines()}


def addresses(lab):
    argv = ["ip", "-n", lab.namespace, "-brief", "-4", "address"]
    shown = subprocess.run(argv, text=True, capture_output=True, check=True)
    return {line.split()[0]: line.split()[2] for line in shown.stdout.splitlines()}


def wait_until(condition, timeout_seconds=20):
    end = time.monotonic() + timeout_seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_new_lab_has_its_two_bridges_and_nothing_outside(lab):
    assert addresses(lab) == {"lo": "127.0.0.1/8", "management": "10.66.0.1/24", "compute": "10.77.0.1/24"}
    assert lab.management_gateway == "10.66.0.1"
    outside = subprocess.run(["ip", "-brief", "link"], text=True, capture_output=True, check=True).stdout
    assert "management" not in outside
    assert lab.hosts() == []


def test_two_labs_have_nothing_in_common(lab, tmp_path, image):
    other = Lab.create(tmp_path / "other", image)
    try:
        assert other.namespace != lab.namespace
        assert other.scratch_dir != lab.scratch_dir
        lab.start(spec("vm-1"))
        other.start(spec("vm-1"))
        other.destroy()
        assert lab.is_running("vm-1")
    finally:
        other.destroy()


def test_destroy_leaves_nothing_and_may_be_called_again(tmp_path, image):
    lab = Lab.create(tmp_path / "run", image)
    host = lab.start(spec("vm-1"))
    umid = f"onehpc-{lab.id}-1"
    lab.destroy()
    lab.destroy()
    assert processes_of(umid, {host.pid}) == {}
    assert lab.namespace not in namespaces()
    assert not lab.scratch_dir.exists()
    assert list((tmp_path / "run").iterdir()) == []
    with pytest.raises(LabError, match="holds no lab"):
        Lab.open(tmp_path / "run")


def test_destroy_can_keep_the_consoles(tmp_path, image):
    lab = Lab.create(tmp_path / "run", image)
    lab.start(spec("crash"))
    lab.destroy(keep_consoles=True)
    files = [str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert files == ["hosts/crash/console.log"]


def test_destroy_by_another_process_ends_the_hosts(lab):
    host = lab.start(spec("vm-1"))
    argv = [sys.executable, "-m", "tests.lab", "--run-dir", str(lab.run_dir), "down"]
    subprocess.run(argv, cwd=ROOT, check=True, timeout=60)
    assert not lab.is_running("vm-1")
    assert processes_of(f"onehpc-{lab.id}-1", {host.pid}) == {}


def test_a_folder_with_a_lab_is_refused(lab, image):
    with pytest.raises(LabError, match="already holds a lab"):
        Lab.create(lab.run_dir, image)


def test_a_missing_image_is_refused(tmp_path):
    with pytest.raises(LabError, match="there is no image"):
        Lab.create(tmp_path / "run", tmp_path / "nothing.ext4")
    assert not (tmp_path / "run" / "lab.json").exists()


def test_hosts_are_pinned_round_the_cores_and_seen_by_all(lab):
    cores = sorted(os.sched_getaffinity(0))
    for number in (10, 11, 12):
        lab.start(spec(f"vm-{number}", number))
    seen = Lab.open(lab.run_dir).hosts()
    assert [host.name for host in seen] == ["vm-10", "vm-11", "vm-12"]
    assert [host.core for host in seen] == [cores[index % len(cores)] for index in range(3)]
    for host in seen:
        wait_until(lambda host=host: os.sched_getaffinity(host.pid) == {host.core})
    assert all(host.running for host in seen)
    assert seen[1].addresses == ("10.66.0.11", "10.77.0.11")


def test_a_host_has_a_card_on_each_network_until_it_stops(lab):
    lab.start(spec("vm-1"))
    assert {"management-1", "compute-1"} <= links(lab)
    master = subprocess.run(
        ["ip", "-n", lab.namespace, "link", "show", "compute-1"], text=True, capture_output=True, check=True
    )
    assert "master compute" in master.stdout
    lab.stop("vm-1")
    assert links(lab) == {"lo", "management", "compute"}


def test_the_labs_key_is_added_to_the_context(lab):
    lab.start(spec("vm-1", SSH_PUBLIC_KEY="ssh-ed25519 AAAA site"))
    disk = lab.run_dir / "hosts/vm-1/context.img"
    argv = ["debugfs", "-R", "cat /context.sh", str(disk)]
    context = subprocess.run(argv, text=True, capture_output=True, check=True).stdout
    own = (lab.run_dir / "ssh-key.pub").read_text()
    assert f"SSH_PUBLIC_KEY='ssh-ed25519 AAAA site\n{own.strip()}'\n" in context


def test_a_clean_stop_presses_ctrl_alt_del(lab):
    host = lab.start(spec("vm-1"))
    lab.stop("vm-1", timeout_seconds=20)
    assert not lab.is_running("vm-1")
    assert lab.console("vm-1", lines=1) == "reboot: System halted"
    assert processes_of(f"onehpc-{lab.id}-1", {host.pid}) == {}
    lab.stop("vm-1")


def test_a_host_that_ignores_the_key_press_is_reported_and_runs_on(lab):
    lab.start(spec("deaf"))
    with pytest.raises(LabError, match=r"deaf did not power off within 0\.3 s(.|\n)*kernel of deaf"):
        lab.stop("deaf", timeout_seconds=0.3)
    assert lab.is_running("deaf")
    lab.stop("deaf", hard=True)
    assert not lab.is_running("deaf")
    assert "halted" not in lab.console("deaf")


def test_a_host_that_dies_is_reported_with_its_console(lab):
    lab.start(spec("crash"))
    with pytest.raises(LabError, match=r"crash ended before it answered ssh(.|\n)*Kernel panic"):
        lab.wait_for_ssh("crash", timeout_seconds=30)


def test_a_host_that_never_answers_is_reported_with_its_console(lab):
    lab.start(spec("vm-1"))
    with pytest.raises(LabError, match=r"vm-1 \(10.66.0.10\) did not answer ssh within 0\.3 s(.|\n)*kernel of vm-1"):
        lab.wait_for_ssh("vm-1", timeout_seconds=0.3)


def test_helpers_of_a_killed_kernel_are_ended(lab):
    host = lab.start(spec("vm-1"))
    umid = f"onehpc-{lab.id}-1"
    # The shell, the kernel and its helper.
    wait_until(lambda: len(processes_of(umid, {host.pid})) == 3)
    kernel, helper = sorted(set(processes_of(umid, {host.pid})) - {host.pid})
    os.kill(kernel, signal.SIGKILL)
    wait_until(lambda: not lab.is_running("vm-1"))
    wait_until(lambda: set(processes_of(umid, {host.pid})) == {helper})
    lab.stop("vm-1")
    assert processes_of(umid, {host.pid}) == {}


def test_a_host_that_reboots_runs_on_until_it_is_stopped(lab):
    lab.start(spec("restless"))
    wait_until(lambda: lab.console("restless").count("kernel of restless") == 2)
    lab.stop("restless", timeout_seconds=20)
    assert lab.console("restless").count("kernel of restless") == 2
    assert not lab.is_running("restless")


def test_console_is_plain_text(lab):
    lab.start(spec("vm-1"))
    lab.stop("vm-1")
    written = b"\x1b[0;32m  OK  \x1b[0m one\r\n\r\n\x1bM\x1b[Ktwo \xff\r\nthree"
    (lab.run_dir / "hosts/vm-1/console.log").write_bytes(written)
    assert lab.console("vm-1") == "  OK   one\ntwo \ufffd\nthree"
    assert lab.console("vm-1", lines=2) == "two \ufffd\nthree"


def test_a_name_may_be_used_again_with_a_new_disk_or_the_old_one(lab):
    disk = lab.run_dir / "hosts/vm-1/disk.cow"

    def boot(**options):
        lab.start(spec("vm-1"), **options)
        lab.stop("vm-1")
        return disk.read_text().count("booted")

    assert boot() == 1
    assert boot(keep_disk=True) == 2
    assert boot() == 1
    assert [host.name for host in lab.hosts()] == ["vm-1"]


def test_a_host_gets_more_kernel_arguments_after_the_labs(lab):
    lab.start(replace(spec("vm-1"), kernel_arguments=("quiet", "systemd.mask=x.service")))
    lab.stop("vm-1")
    assert lab.console("vm-1").splitlines()[-4:-2] == ["quiet", "systemd.mask=x.service"]


def test_what_cannot_start_is_refused(lab):
    lab.start(spec("vm-1"))
    with pytest.raises(LabError, match="already runs"):
        lab.start(spec("vm-1", 11))
    with pytest.raises(LabError, match=r"10\.66\.0\.10 belongs to the running host vm-1"):
        lab.start(spec("vm-2"))
    with pytest.raises(LabError, match="cannot be the name"):
        lab.start(spec("../x", 11))
    with pytest.raises(LabError, match="no ETH0_IP"):
        lab.start(HostSpec("vm-2", {}))
    with pytest.raises(LabError, match="no ETH1_MAC"):
        lab.start(spec("vm-2", 11, ETH1_MAC=""))
    with pytest.raises(LabError, match=r"192\.0\.2\.1 is in no network of the lab \(management 10\.66\.0\.0/24"):
        lab.start(spec("vm-2", 11, ETH0_IP="192.0.2.1"))
    assert [host.name for host in lab.hosts()] == ["vm-1"]


def test_an_unknown_host_is_named_with_those_there_are(lab):
    lab.start(spec("vm-1"))
    for call in (lab.stop, lab.console, lab.ssh_command, lab.wait_for_ssh):
        with pytest.raises(LabError, match=r"no host vm-9 \(hosts: vm-1\)"):
            call("vm-9")
    assert not lab.is_running("vm-9")


def test_command_line_lists_and_stops(lab, capsys):
    lab.start(spec("vm-1"))
    where = ["--run-dir", str(lab.run_dir)]
    assert main([*where, "list"]) == 0
    assert "vm-1         running" in capsys.readouterr().out
    assert main([*where, "stop", "vm-1"]) == 0
    assert main([*where, "console", "vm-1", "--lines", "1"]) == 0
    assert capsys.readouterr().out == "reboot: System halted\n"
    assert main([*where, "stop", "vm-9"]) == 1
    assert "no host vm-9" in capsys.readouterr().err
    assert main([*where, "down"]) == 0
    assert main([*where, "down"]) == 0
