# SPDX-License-Identifier: GPL-3.0-or-later
"""One placeholder for each worker role, of the right shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import (
    CREATE,
    REPLACE,
    PlaceholderChange,
    largest_registered,
    placeholder_changes,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import (
    MARKETPLACE_SHAPE,
    WorkerShape,
    largest_shape,
    parse_shapes,
    shape_from_json,
)
from tests.unit.plugins.pool_world import PREFIX, make_node, make_service

TWO_ROLES = make_service([3], worker_big=[])
MARKETPLACE_WORKER = replace(MARKETPLACE_SHAPE, features=frozenset(["worker"]))


def slurm(*nodes):
    return SlurmReading(nodes, ())


def changes(reading, given=None, largest=None, service=None):
    return placeholder_changes(service or make_service([3]), reading, given or {}, largest or {})


def test_every_worker_role_gets_one():
    assert changes(slurm(), service=TWO_ROLES) == (
        PlaceholderChange(CREATE, "ph-worker", MARKETPLACE_WORKER),
        PlaceholderChange(CREATE, "ph-worker_big", replace(MARKETPLACE_SHAPE, features=frozenset(["worker_big"]))),
    )


def test_one_that_is_there_is_left():
    assert changes(slurm(make_node("ph-worker", "FUTURE"))) == ()


def test_the_given_shape_wins_over_the_seen_one_and_that_over_the_marketplaces():
    seen = WorkerShape(16, 60000, 1, frozenset(["worker", "avx512"]), frozenset(["main"]))
    given = parse_shapes("worker:cpus=4:mem=8000:gpus=2")
    (change,) = changes(slurm(), given=given, largest={"worker": seen})
    assert change.shape == WorkerShape(4, 8000, 2, frozenset(["worker"]))
    (change,) = changes(slurm(), largest={"worker": seen})
    assert change.shape == replace(seen, partitions=frozenset())
    (change,) = changes(slurm())
    assert change.shape == MARKETPLACE_WORKER


def test_another_shape_is_replaced_only_while_a_worker_responds():
    """In an empty pool every job would be refused between the two commands."""
    small = make_node("ph-worker", "FUTURE", cpus=1)
    assert changes(slurm(small)) == ()
    assert changes(slurm(small, make_node(3, "DOWN"))) == ()
    (change,) = changes(slurm(small, make_node(3)))
    assert (change.kind, change.shape) == (REPLACE, MARKETPLACE_WORKER)


def test_a_machine_of_that_name_is_left_alone():
    assert changes(slurm(make_node("ph-worker", "IDLE", cpus=1), make_node(3))) == ()


def test_the_largest_worker_that_ever_registered_is_remembered():
    first = largest_registered(TWO_ROLES, slurm(make_node(3, cpus=8, memory_mib=100)), PREFIX, {})
    assert (first["worker"].cpus, first["worker"].memory_mib) == (8, 100)
    assert "worker_big" not in first
    second = largest_registered(TWO_ROLES, slurm(make_node(3, cpus=2, memory_mib=900, gpus=1)), PREFIX, first)
    assert (second["worker"].cpus, second["worker"].memory_mib, second["worker"].gpus) == (8, 900, 1)
    assert largest_registered(TWO_ROLES, slurm(), PREFIX, second) == second
    assert largest_registered(TWO_ROLES, slurm(make_node(9, cpus=99)), PREFIX, second) == second


def test_shapes():
    assert parse_shapes("worker:cpus=2:mem=3686:gpus=0;worker_big:cpus=8:mem=30000") == {
        "worker": WorkerShape(2, 3686, 0, frozenset(["worker"])),
        "worker_big": WorkerShape(8, 30000, 0, frozenset(["worker_big"])),
    }
    assert parse_shapes("") == parse_shapes(" ") == {}
    shape = WorkerShape(2, 3686, 1, frozenset("ab"), frozenset("m"))
    assert shape_from_json(shape.to_json()) == shape
    assert largest_shape([]) is None


@pytest.mark.parametrize(
    "text",
    [
        "worker",
        "worker:cpus=0:mem=1",
        "worker:mem=1:cpus=1",
        "worker:cpus=1:mem=1;",
        "x y:cpus=1:mem=1",
        "worker:cpus=1:mem=1;worker:cpus=2:mem=2",
    ],
)
def test_other_shapes_are_refused(text):
    with pytest.raises(PoolError, match="cannot be read"):
        parse_shapes(text)
