# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab with real guests: what OpenNebula's context package would leave on them, and how they end."""

from __future__ import annotations

import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.lab.addresses import network_context
from tests.lab.lab import HostSpec, Lab, LabError

BOOT_ID = "/proc/sys/kernel/random/boot_id"
ENDPOINT_PORT = 5030
SITE_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA site"
NOTE = 'two "quoted"\nlines, it\'s $HOME'


def spec(name, number):
    """A host whose template says REPORT_READY=YES and whose OneGate is the lab's gateway."""
    context = {
        "VMID": str(number),
        "ONEGATE_ENDPOINT": f"http://10.66.0.1:{ENDPOINT_PORT}",
        "REPORT_READY": "YES",
        "SSH_PUBLIC_KEY": SITE_KEY,
        "NOTE": NOTE,
        **network_context(number),
    }
    return HostSpec(name, context, token="dG9rZW4tb2YtdGhlLWhvc3Q=")


@dataclass
class Requests:
    """(method, path, body) of what reached the gateway's port 5030."""

    seen: list[tuple[str, str, bytes]] = field(default_factory=list)


def serve(lab, requests):
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            requests.seen.append((self.command, self.path, body))
            self.send_response(200)
            self.end_headers()

        do_GET = do_PUT = answer

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer((lab.management_gateway, ENDPOINT_PORT), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = lab.call_inside(lambda: socket.create_server(server.server_address))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def requests():
    return Requests()


@pytest.fixture(scope="module")
def lab(image, requests, tmp_path_factory):
    """Two hosts, one and two, booted side by side."""
    lab = Lab.create(tmp_path_factory.mktemp("lab"), image)
    server = None
    try:
        server = serve(lab, requests)
        begin = time.monotonic()
        for name, number in (("one", 11), ("two", 12)):
            lab.start(spec(name, number))
        for name in ("one", "two"):
            lab.wait_for_ssh(name)
            print(f"lab host {name} answers ssh after {time.monotonic() - begin:.1f} s", flush=True)
            wait_for_unit(lab, name, "one-context.service")
        yield lab
    finally:
        if server:
            server.shutdown()
            server.server_close()
        lab.destroy()


def wait_for_unit(lab, name, unit):
    """systemctl start returns when the unit is active, also when it is being started already."""
    lab.run(name, ["systemctl", "start", unit])


def test_hosts_have_the_addresses_of_their_context(lab):
    shown = json.loads(lab.run("one", "ip -json -4 address").stdout)
    found = {link["ifname"]: [(entry["local"], entry["prefixlen"]) for entry in link["addr_info"]] for link in shown}
    assert found == {"lo": [("127.0.0.1", 8)], "eth0": [("10.66.0.11", 24)], "eth1": [("10.77.0.11", 24)]}
    routes = json.loads(lab.run("one", "ip -json route show default").stdout)
    assert [(route["gateway"], route["dev"]) for route in routes] == [("10.66.0.1", "eth0")]


@pytest.mark.parametrize("address", ["10.66.0.12", "10.77.0.12", "10.66.0.1"])
def test_hosts_reach_each_other_on_both_networks_and_their_gateway(lab, address):
    lab.run("one", ["ping", "-c", "1", "-w", "5", address])


def test_addresses_are_there_before_the_network_counts_as_online(lab):
    def active_since(unit):
        show = ["systemctl", "show", "--value", "--property=ActiveEnterTimestampMonotonic", unit]
        return int(lab.run("one", show).stdout)

    assert 0 < active_since("one-context-local.service") <= active_since("network-online.target")


def test_one_env_is_as_the_context_package_writes_it(lab):
    assert lab.run("one", "stat -c '%U %a' /run/one-context/one_env").stdout == "root 400\n"
    text = lab.run("one", "cat /run/one-context/one_env").stdout
    assert text.startswith(
        'export TOKENTXT="dG9rZW4tb2YtdGhlLWhvc3Q="\nexport VMID="11"\nexport ONEGATE_ENDPOINT="http://10.66.0.1:5030"\n'
    )
    assert f'export NOTE="{NOTE}"\n' in text
    assert 'export ETH1_IP="10.77.0.11"\n' in text


def test_root_may_log_in_with_the_sites_key_and_the_labs(lab):
    keys = lab.run("one", "cat /root/.ssh/authorized_keys").stdout.splitlines()
    assert keys == [SITE_KEY, (lab.run_dir / "ssh-key.pub").read_text().strip()]


def test_ready_hook_is_silent_in_the_baked_image_and_would_have_spoken(lab, requests):
    # The context services have ended, so the hook has run.
    assert ("PUT", "/vm", b"READY=YES") not in requests.seen
    log = lab.run("one", "journalctl --quiet --output=cat --unit=one-context.service").stdout
    assert "net-99-report-ready: Finished with exit code 0" in log
    lab.run("one", "REPORT_READY=YES /usr/lib/onehpc/one-context.net-99-report-ready network")
    assert requests.seen.count(("PUT", "/vm", b"READY=YES")) == 1


def test_hosts_of_one_image_have_keys_and_ids_of_their_own(lab):
    identity = "cat /etc/machine-id; ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key"
    one, two = lab.run("one", identity).stdout.split(), lab.run("two", identity).stdout.split()
    assert one[0] != two[0]
    assert one[2] != two[2]


def test_nothing_failed_at_boot_but_the_first_boot_that_has_no_role(lab):
    shown = lab.run("two", "systemctl --failed --plain --no-legend").stdout
    assert {line.split()[0] for line in shown.splitlines()} <= {"onehpc-first-boot.service"}


def test_kernel_of_a_host_is_its_own_and_loads_what_the_service_needs(lab):
    assert lab.run("one", f"cat {BOOT_ID}").stdout != Path(BOOT_ID).read_text()
    lab.run("one", "modprobe -a nfsd nfsv4 fuse iptable_filter overlay")
    assert "nfsd" in lab.run("one", "cat /proc/filesystems").stdout
    lab.run("one", "iptables-legacy -A INPUT -p tcp --dport 9 -j DROP && iptables-legacy -F INPUT")
    controllers = lab.run("one", "cat /sys/fs/cgroup/cgroup.controllers").stdout.split()
    assert {"cpu", "memory", "pids"} <= set(controllers)


def test_user_of_the_demo_has_one_uid_and_no_home_yet(lab):
    assert lab.run("one", "id -u; id -un; pwd", user="alice").stdout.split()[:2] == ["2001", "alice"]
    assert lab.run("one", "test -e /home/alice", check=False).returncode == 1


def test_a_name_is_looked_up_in_no_time(lab):
    begin = time.monotonic()
    lab.run("one", "getent hosts nowhere.example", check=False)
    assert time.monotonic() - begin < 3


def test_run_returns_output_status_and_says_what_failed(lab):
    done = lab.run("one", "echo out; echo err >&2; exit 3", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert lab.run("one", ["printf", "%s|", "a b", "$c"]).stdout == "a b|$c|"
    assert lab.run("one", "cat", input="fed").stdout == "fed"
    with pytest.raises(LabError, match="host one: `echo why >&2; false` ended with 1: why"):
        lab.run("one", "echo why >&2; false")
    with pytest.raises(LabError, match=r"`sleep 60` did not end within 0\.5 s"):
        lab.run("one", "sleep 60", timeout_seconds=0.5)


def test_ansible_reaches_a_host_from_outside_the_namespace(lab, tmp_path):
    inventory = tmp_path / "inventory.json"
    hosts = {name: lab.ansible_inventory_vars(name) for name in ("one", "two")}
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    argv = [
        sys.executable,
        "-m",
        "ansible",
        "adhoc",
        "--inventory",
        str(inventory),
        "all",
        "-m",
        "ansible.builtin.ping",
    ]
    done = subprocess.run(argv, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("SUCCESS") == 2


def test_a_frozen_host_answers_nobody_until_it_is_thawed(lab):
    before = lab.run("two", f"cat {BOOT_ID}").stdout
    lab.freeze("two")
    try:
        with pytest.raises(LabError):
            lab.run("two", "true", timeout_seconds=5)
        assert lab.is_running("two")
    finally:
        lab.thaw("two")
    assert lab.run("two", f"cat {BOOT_ID}").stdout == before


def test_clean_stop_ends_services_and_a_power_cut_does_not(lab):
    unit = "systemd-run --quiet --unit=leave -p RemainAfterExit=yes -p ExecStop='/bin/touch /root/stopped' true && sync"
    lab.run("two", unit)
    lab.stop("two")
    assert not lab.is_running("two")
    assert "reboot: System halted" in lab.console("two", lines=5)

    lab.start(spec("two", 12), keep_disk=True)
    lab.wait_for_ssh("two")
    lab.run("two", "rm /root/stopped && " + unit)
    lab.stop("two", hard=True)
    assert not lab.is_running("two")

    lab.start(spec("two", 12), keep_disk=True)
    lab.wait_for_ssh("two")
    assert lab.run("two", "test -e /root/stopped", check=False).returncode == 1


def test_a_host_that_reboots_comes_back_with_a_new_boot_id(lab):
    before = lab.run("two", f"cat {BOOT_ID}").stdout
    lab.run("two", "systemctl reboot", check=False)
    end = time.monotonic() + 90
    while (after := lab.run("two", f"cat {BOOT_ID}", check=False).stdout) in ("", before):
        assert time.monotonic() < end, lab.console("two", lines=40)
        assert lab.is_running("two")
        time.sleep(0.2)
    assert after != before


def test_a_host_that_does_not_come_up_is_reported_with_its_console(lab):
    broken = HostSpec("broken", {"VMID": "13", **network_context(13)}, memory_mib=24)
    lab.start(broken)
    with pytest.raises(LabError, match=r"host broken .*\nLast lines of its console:(.|\n)*[Mm]emory"):
        lab.wait_for_ssh("broken", timeout_seconds=20)
    lab.stop("broken", hard=True)


def test_two_labs_at_once_do_not_meet(lab, image, tmp_path):
    other = Lab.create(tmp_path / "other", image)
    try:
        other.start(spec("one", 11))
        other.wait_for_ssh("one")
        identity = "cat /etc/machine-id"
        assert other.run("one", identity).stdout != lab.run("one", identity).stdout
        # Host two of the first lab has this address.
        assert other.run("one", ["ping", "-c", "1", "-w", "2", "10.66.0.12"], check=False).returncode == 1
    finally:
        other.destroy()
    assert lab.is_running("one")
