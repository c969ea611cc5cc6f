# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest's context step: addresses, keys and one_env."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import parse_one_env
from tests.lab.addresses import network_context
from tests.unit.lab.guest_programs import load_guest_program

contextd = load_guest_program("usr/sbin/one-contextd")


def test_one_env_begins_with_token_id_and_endpoint_and_escapes_nothing():
    values = {"DISK_ID": "1", "ONEGATE_ENDPOINT": "http://169.254.16.9:5030", "VMID": "7", "NOTE": 'a "b" $(c)\nd'}
    assert contextd.render_one_env(values, "dG9rZW4=") == (
        'export TOKENTXT="dG9rZW4="\n'
        'export VMID="7"\n'
        'export ONEGATE_ENDPOINT="http://169.254.16.9:5030"\n'
        'export DISK_ID="1"\n'
        'export NOTE="a "b" $(c)\nd"\n'
    )


def test_token_of_the_context_wins_over_the_file():
    assert contextd.render_one_env({"ONEGATE_TOKEN": "own"}, "file").startswith('export TOKENTXT="own"\n')


@given(
    st.dictionaries(
        st.from_regex(r"ONEAPP_[A-Z0-9_]{1,8}", fullmatch=True),
        st.text(st.characters(categories=["L", "N", "P", "Zs"])),
    )
)
def test_the_collection_reads_back_every_value(values):
    assert parse_one_env(contextd.render_one_env(values, "token")) == {
        "TOKENTXT": "token",
        "VMID": "",
        "ONEGATE_ENDPOINT": "",
        **values,
    }


def interfaces(directory, macs):
    for name, mac in macs.items():
        (directory / name).mkdir()
        (directory / name / "address").write_text(mac + "\n")
    return str(directory)


def test_addresses_go_by_hardware_address_and_the_route_by_the_only_gateway(tmp_path, monkeypatch):
    macs = {"lo": "00:00:00:00:00:00", "vec0": "02:00:0a:4d:00:0d", "vec1": "02:00:0a:42:00:0d"}
    monkeypatch.setattr(contextd, "INTERFACES_DIR", interfaces(tmp_path, macs))
    assert contextd.address_commands(network_context(13)) == [
        "link set lo up",
        "link set vec1 name eth0",
        "address replace 10.66.0.13/24 brd + dev eth0",
        "link set eth0 up",
        "link set vec0 name eth1",
        "address replace 10.77.0.13/24 brd + dev eth1",
        "link set eth1 up",
        "route replace default via 10.66.0.1 dev eth0 metric 1",
    ]


def test_a_card_that_is_not_there_is_said_and_the_others_are_set(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(contextd, "INTERFACES_DIR", interfaces(tmp_path, {"eth1": "02:00:0a:4d:00:0d"}))
    commands = contextd.address_commands(network_context(13))
    assert commands == ["link set lo up", "address replace 10.77.0.13/24 brd + dev eth1", "link set eth1 up"]
    assert "ETH0: no interface has the address 02:00:0a:42:00:0d" in capsys.readouterr().err


def test_prefix_length():
    assert [contextd.prefix_length(mask) for mask in ("255.255.255.0", "255.255.240.0", "0.0.0.0")] == [24, 20, 0]


def test_keys_are_written_for_root_alone(tmp_path, monkeypatch):
    path = tmp_path / ".ssh" / "authorized_keys"
    monkeypatch.setattr(contextd, "AUTHORIZED_KEYS", str(path))
    contextd.authorize_keys({"SSH_PUBLIC_KEY": "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two"})
    assert path.read_text() == "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_net_scripts_run_in_order_with_the_context_in_their_environment(tmp_path, monkeypatch):
    scripts = tmp_path / "one-context.d"
    scripts.mkdir()
    for name, status in (("net-20-b", 0), ("net-10-a", 1), ("loc-05-c", 0), ("readme", 0)):
        (scripts / name).write_text(f'#!/bin/sh\necho "{name} $1 $NOTE" >>{tmp_path}/ran\nexit {status}\n')
        (scripts / name).chmod(0o755)
    (tmp_path / "context.sh.local").write_text("NOTE='it'\\''s'\n")
    monkeypatch.setattr(contextd, "SCRIPTS_DIR", str(scripts))
    monkeypatch.setattr(contextd, "RUN_DIR", str(tmp_path))
    contextd.run_network_scripts()
    assert (tmp_path / "ran").read_text() == "net-10-a network it's\nnet-20-b network it's\n"
