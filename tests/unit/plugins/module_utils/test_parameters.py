# SPDX-License-Identifier: GPL-3.0-or-later
"""Each context parameter sets one role variable, or is refused with a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.parameters import (
    PARAMETERS,
    parameter_value,
    refused_variables,
    role_variables,
)

LOGIN = "robot:s3cret"
GOOD = [
    ("ONEAPP_ROLE", "storage", "common_role", "storage"),
    ("ONEAPP_NFS_HOST", " 10.0.0.4 ", "common_storage_address", "10.0.0.4"),
    ("ONEAPP_LDAP_HOST", "10.0.0.5", "common_portal_address", "10.0.0.5"),
    ("ONEAPP_POOL_RANGE", "10.0.0.1-10.0.3.254", "common_pool_range", "10.0.0.1-10.0.3.254"),
    ("ONEAPP_POOL_PREFIX", "site-worker-", "common_node_prefix", "site-worker-"),
    ("ONEAPP_POOL_PREFIX", "w", "common_node_prefix", "w"),
    ("ONEAPP_POOL_SCALING", "direct", "common_pool_scaling", "direct"),
    ("ONEAPP_POOL_SCALING", " policies ", "common_pool_scaling", "policies"),
    ("ONEAPP_WORKER_IDLE_SECONDS", "0600", "common_pool_idle_seconds", 600),
    ("ONEAPP_WORKER_DRAIN_SECONDS", "0", "common_pool_drain_seconds", 0),
    ("ONEAPP_WORKER_MIN_VMS", "2", "common_pool_min_vms", 2),
    ("ONEAPP_WORKER_MAX_VMS", "12", "common_pool_max_vms", 12),
    ("ONEAPP_WORKER_SHAPES", "worker:cpus=2:mem=3686", "portal_worker_shapes", "worker:cpus=2:mem=3686"),
    (
        "ONEAPP_WORKER_SHAPES",
        "worker:cpus=2:mem=3686:gpus=0;worker_big:cpus=8:mem=15000:gpus=1",
        "portal_worker_shapes",
        "worker:cpus=2:mem=3686:gpus=0;worker_big:cpus=8:mem=15000:gpus=1",
    ),
    ("ONEAPP_SLURM_STATE_EXPORT", "/export/slurm", "common_state_export", "/export/slurm"),
    ("ONEAPP_SLURM_DEF_MEM_PER_CPU", "1024", "portal_def_mem_per_cpu_mib", 1024),
    ("ONEAPP_SLURM_CONTROLLER_PORT", "6817", "common_slurmctld_port", 6817),
    ("ONEAPP_METRICS_PORT", "9101", "portal_metrics_port", 9101),
]

# Read by the launcher of the first boot alone: they set no variable.
GOOD_FOR_THE_LAUNCHER = [
    ("ONEAPP_COLLECTION_URL", "https://git.example.org/hpc/ondemand.git"),
    ("ONEAPP_COLLECTION_URL", f"https://{LOGIN}@git.example.org:8443/ondemand.git"),
    ("ONEAPP_COLLECTION_URL", "http://10.0.0.1/ondemand.git"),
    ("ONEAPP_COLLECTION_URL", "git://10.0.0.1:9418/ondemand"),
    ("ONEAPP_COLLECTION_URL", "ssh://git@git.example.org/~hpc/ondemand.git"),
    ("ONEAPP_COLLECTION_URL", "file:///srv/ondemand.git"),
    ("ONEAPP_COLLECTION_VERSION", "main"),
    ("ONEAPP_COLLECTION_VERSION", "release/0.2.x"),
    ("ONEAPP_COLLECTION_VERSION", "0123456789abcdef0123456789abcdef01234567"),
]

BAD = [
    ("ONEAPP_ROLE", "Worker"),
    ("ONEAPP_ROLE", "worker_big"),
    ("ONEAPP_NFS_HOST", "10.0.0.256"),
    ("ONEAPP_NFS_HOST", "${storage.template.context.eth1_ip}"),
    ("ONEAPP_POOL_RANGE", "10.0.0.9-10.0.0.1"),
    ("ONEAPP_POOL_RANGE", "10.0.0.1"),
    ("ONEAPP_POOL_RANGE", "10.0.0.1-10.0.0.5-10.0.0.9"),
    ("ONEAPP_POOL_PREFIX", "node1"),
    ("ONEAPP_POOL_PREFIX", "ph-"),
    ("ONEAPP_POOL_PREFIX", "Worker-"),
    ("ONEAPP_POOL_PREFIX", "a-rather-long-"),
    ("ONEAPP_POOL_SCALING", "Direct"),
    ("ONEAPP_POOL_SCALING", "both"),
    ("ONEAPP_POOL_SCALING", "policies|direct"),
    ("ONEAPP_WORKER_IDLE_SECONDS", "ten minutes"),
    ("ONEAPP_WORKER_IDLE_SECONDS", "-1"),
    ("ONEAPP_WORKER_IDLE_SECONDS", "1.5"),
    ("ONEAPP_WORKER_IDLE_SECONDS", "\u0661"),
    ("ONEAPP_WORKER_MIN_VMS", "one"),
    ("ONEAPP_WORKER_MIN_VMS", "0"),
    ("ONEAPP_WORKER_MAX_VMS", "0"),
    ("ONEAPP_WORKER_MAX_VMS", "many"),
    ("ONEAPP_WORKER_SHAPES", "worker:cpus=0:mem=3686"),
    ("ONEAPP_WORKER_SHAPES", "portal:cpus=2:mem=3686"),
    ("ONEAPP_WORKER_SHAPES", "worker:cpus=2:mem=3686;"),
    ("ONEAPP_WORKER_SHAPES", "worker:cpus=2:mem=1;worker:cpus=2:mem=2"),
    ("ONEAPP_SLURM_STATE_EXPORT", "export/slurm"),
    ("ONEAPP_SLURM_STATE_EXPORT", "/export/../etc"),
    ("ONEAPP_SLURM_STATE_EXPORT", "/export/slurm/"),
    ("ONEAPP_SLURM_STATE_EXPORT", "/export/my slurm"),
    ("ONEAPP_SLURM_STATE_EXPORT", "/"),
    ("ONEAPP_SLURM_DEF_MEM_PER_CPU", "0"),
    ("ONEAPP_SLURM_CONTROLLER_PORT", "65536"),
    ("ONEAPP_SLURM_CONTROLLER_PORT", "0"),
    ("ONEAPP_METRICS_PORT", "http"),
    ("ONEAPP_COLLECTION_URL", "ext::sh -c id"),
    ("ONEAPP_COLLECTION_URL", "--upload-pack=id"),
    ("ONEAPP_COLLECTION_URL", "https://git.example.org"),
    ("ONEAPP_COLLECTION_URL", 'https://git.example.org/a" b'),
    ("ONEAPP_COLLECTION_URL", "https://git.example.org/{{ a }}"),
    ("ONEAPP_COLLECTION_URL", "ssh://-v/a"),
    ("ONEAPP_COLLECTION_VERSION", "-b"),
    ("ONEAPP_COLLECTION_VERSION", "a..b"),
    ("ONEAPP_COLLECTION_VERSION", "a b"),
]


@pytest.mark.parametrize(("name", "text", "variable", "value"), GOOD)
def test_good_value(name, text, variable, value):
    assert role_variables({name: text}) == ({variable: value}, [], [])


@pytest.mark.parametrize(("name", "text"), GOOD_FOR_THE_LAUNCHER)
def test_good_value_for_the_launcher(name, text):
    assert role_variables({name: text}) == ({}, [], [])
    assert parameter_value({name: f" {text} "}, name) == text
    assert parameter_value({name: " "}, name) is None


@pytest.mark.parametrize("text", [f"https://{LOGIN}@h/a?b", f"{LOGIN}@host:path", "https://s3cret@h /a"])
def test_refusal_of_a_url_does_not_show_its_login(text):
    _variables, _unknown, (refusal,) = role_variables({"ONEAPP_COLLECTION_URL": text})
    assert "s3cret" not in refusal
    assert "...@h" in refusal


@pytest.mark.parametrize(("name", "text"), BAD)
def test_bad_value_is_refused_with_name_value_and_expectation(name, text):
    variables, unknown, (refusal,) = role_variables({name: text})
    assert (variables, unknown) == ({}, [])
    assert refusal.startswith(f"{name} is {text!r}, expected ")


def test_every_parameter_has_a_good_and_a_bad_case():
    names = {parameter.name for parameter in PARAMETERS}
    assert {case[0] for case in GOOD + GOOD_FOR_THE_LAUNCHER} == names
    same_kind_as_another = {"ONEAPP_LDAP_HOST", "ONEAPP_WORKER_DRAIN_SECONDS"}
    assert {case[0] for case in BAD} | same_kind_as_another == names
    variables = [parameter.variable for parameter in PARAMETERS if parameter.variable]
    assert len(set(variables)) == len(variables)


def test_all_refusals_are_told_at_once():
    variables, _unknown, refusals = role_variables(
        {"ONEAPP_ROLE": "x", "ONEAPP_WORKER_IDLE_SECONDS": "y", "ONEAPP_WORKER_DRAIN_SECONDS": "7"}
    )
    assert variables == {"common_pool_drain_seconds": 7}
    assert [refusal.split(", ")[0] for refusal in refusals] == [
        "ONEAPP_ROLE is 'x'",
        "ONEAPP_WORKER_IDLE_SECONDS is 'y'",
    ]


def test_unknown_names_are_told_and_empty_ones_count_as_not_given():
    values = {"ONEAPP_B": "1", "ONEAPP_A": "2", "ONEAPP_C": " ", "ONEAPP_ROLE": "", "ETH0_IP": "10.0.0.1"}
    assert role_variables(values) == ({}, ["ONEAPP_A", "ONEAPP_B"], [])


@given(st.dictionaries(st.sampled_from([parameter.name for parameter in PARAMETERS]), st.text()))
def test_no_value_does_anything_but_set_its_variable_or_be_refused(values):
    variables, unknown, refusals = role_variables(values)
    refused_names = {refusal.split(" ")[0] for refusal in refusals}
    set_names = {name for name, text in values.items() if text.strip()} - refused_names
    assert set(variables) == {parameter.variable for parameter in PARAMETERS if parameter.name in set_names} - {None}
    assert unknown == []
    assert "{" not in str(list(variables.values()))


@pytest.mark.parametrize("case", [case for case in BAD if not case[0].startswith("ONEAPP_COLLECTION")])
def test_wrong_value_of_a_variable_is_refused_as_that_of_its_parameter(case):
    name, text = case
    variable = next(parameter.variable for parameter in PARAMETERS if parameter.name == name)
    (refusal,) = refused_variables({variable: text})
    assert refusal.startswith(f"{variable} ({name}) is {text!r}, expected ")


@pytest.mark.parametrize(("name", "text", "variable", "value"), GOOD)
def test_good_value_of_a_variable_stands(name, text, variable, value):
    assert refused_variables({variable: value, "another": "{}"}) == []


def test_variable_that_is_empty_or_of_another_type_is_judged_by_its_text():
    assert refused_variables({"common_pool_range": "", "common_pool_min_vms": 2}) == []
    assert len(refused_variables({"common_pool_min_vms": True, "common_state_export": ["/a"]})) == 2
