# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of a booting VM: its role, its variables, and the site's own inventory before them."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

CONTEXT = {
    "TOKENTXT": "dG9rZW4=",
    "VMID": "17",
    "ONEAPP_ROLE": "worker",
    "ONEAPP_NFS_HOST": "10.77.0.3",
    "ONEAPP_WORKER_IDLE_SECONDS": "45",
    "ONEAPP_WORKER_DRAIN_SECONDS": "",
    "ONEAPP_PORTAL_HOST_NAME": "ondemand.example.org",
    "ETH0_IP": "10.66.0.17",
    "ETH0_MASK": "255.255.255.0",
    "ETH0_GATEWAY": "10.66.0.1",
    "ETH1_IP": "10.77.0.17",
    "ETH1_MASK": "255.255.255.0",
    "START_SCRIPT": 'echo "{{ 1 + 1 }}"\ntouch /tmp/never',
}
VARIABLES = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "/usr/bin/python3",
    "common_role": "worker",
    "common_storage_address": "10.77.0.3",
    "common_pool_idle_seconds": 45,
    "common_vm_id": 17,
    "common_management_address": "10.66.0.17",
    "common_compute_address": "10.77.0.17",
    "common_compute_network": "10.77.0.0/24",
    "common_unknown_parameters": ["ONEAPP_PORTAL_HOST_NAME"],
    "common_refused_parameters": [],
}


def listing(done):
    """What ansible-inventory lists; text that is no template is marked there."""
    return json.loads(done.stdout, object_hook=lambda item: item.get("__ansible_unsafe", item))


@pytest.fixture
def inventory(tmp_path):
    def read(changes=None, more=(), name="context.onehpc.yml"):
        context = {**CONTEXT, **(changes or {})}
        one_env = tmp_path / "one_env"
        one_env.write_text("".join(f'export {key}="{text}"\n' for key, text in context.items() if text is not None))
        config = tmp_path / name
        config.write_text(f"plugin: onehpc.ondemand.context\none_env: {one_env}\n")
        (tmp_path / "ansible.cfg").write_text(
            "[inventory]\nany_unparsed_is_failed = True\n"
            "enable_plugins = onehpc.ondemand.context, ansible.builtin.yaml\n"
        )
        sources = [option for source in (config, *more) for option in ("-i", str(source))]
        return subprocess.run(
            ["ansible-inventory", *sources, "--list"],
            cwd=tmp_path,
            env={**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return read


def test_host_group_and_variables(inventory):
    done = inventory()
    assert done.returncode == 0, done.stderr
    listed = listing(done)
    assert listed["worker"]["hosts"] == ["localhost"]
    assert listed["_meta"]["hostvars"]["localhost"] == VARIABLES
    assert set(listed["all"]["children"]) == {"ungrouped", "storage", "portal", "worker"}
    assert all("hosts" not in listed.get(role, {}) for role in ("storage", "portal"))


@pytest.mark.parametrize("role", ["storage", "portal"])
def test_other_roles(inventory, role):
    listed = listing(inventory({"ONEAPP_ROLE": role}))
    assert listed[role]["hosts"] == ["localhost"]


def test_inventory_of_the_site_wins(inventory, tmp_path):
    site = tmp_path / "inventory"
    (site / "group_vars").mkdir(parents=True)
    (site / "site.yml").write_text("all:\n  vars:\n    common_pool_idle_seconds: 90\n")
    (site / "group_vars" / "worker.yml").write_text("common_storage_address: 10.77.0.99\n")
    variables = listing(inventory(more=[site]))["_meta"]["hostvars"]["localhost"]
    assert (variables["common_pool_idle_seconds"], variables["common_storage_address"]) == (90, "10.77.0.99")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"VMID": None}, "The context has no VMID"),
        ({"ETH1_IP": "10.77"}, "ETH1_IP '10.77' and ETH1_MASK '255.255.255.0' are not an address"),
    ],
)
def test_wrong_context_is_a_sentence(inventory, changes, sentence):
    done = inventory(changes)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())
    assert CONTEXT["TOKENTXT"] not in done.stderr


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ONEAPP_ROLE": None}, "The context has no ONEAPP_ROLE, expected storage, portal or worker"),
        ({"ONEAPP_ROLE": "master"}, "ONEAPP_ROLE is 'master', expected storage, portal or worker"),
        ({"ONEAPP_ROLE": "{{ 1 + 1 }}"}, "ONEAPP_ROLE is '{{ 1 + 1 }}', expected storage, portal or worker"),
    ],
)
def test_without_a_valid_role_the_host_is_there_to_say_so(inventory, changes, sentence):
    listed = listing(inventory(changes))
    variables = listed["_meta"]["hostvars"]["localhost"]
    assert variables["common_refused_parameters"] == [sentence]
    assert "common_role" not in variables
    assert listed["ungrouped"]["hosts"] == ["localhost"]


def test_a_wrong_value_keeps_the_role_and_sets_no_variable(inventory):
    variables = listing(inventory({"ONEAPP_WORKER_IDLE_SECONDS": "ten"}))["_meta"]["hostvars"]["localhost"]
    assert variables["common_refused_parameters"] == [
        "ONEAPP_WORKER_IDLE_SECONDS is 'ten', expected a whole number of seconds"
    ]
    assert variables["common_role"] == "worker"
    assert "common_pool_idle_seconds" not in variables


def test_other_file_names_are_not_its_own(inventory):
    assert inventory(name="other.yml").returncode != 0
