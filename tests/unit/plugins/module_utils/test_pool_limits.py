# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits that forms may offer."""

from __future__ import annotations

import json

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_limits import keep_limits, limits_text
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape, parse_shapes
from tests.unit.plugins.pool_world import make_service

SEEN = WorkerShape(cpus=4, memory_mib=7000, gpus=1, features=frozenset(["worker"]), partitions=frozenset(["main"]))
MARKETPLACE = {"cores": 2, "memory_mib": 3686, "gpus": 0}


@pytest.mark.parametrize(
    ("given", "largest", "expected"),
    [
        ("", {}, MARKETPLACE),
        ("", {"worker": SEEN}, {"cores": 4, "memory_mib": 7000, "gpus": 1}),
        ("worker:cpus=8:mem=9000", {"worker": SEEN}, {"cores": 8, "memory_mib": 9000, "gpus": 0}),
        ("worker_gone:cpus=8:mem=9000", {"worker_gone": SEEN}, MARKETPLACE),
    ],
)
def test_each_worker_role_of_the_service_and_no_other(given, largest, expected):
    service = make_service(worker_big=(9,))
    assert json.loads(limits_text(service, parse_shapes(given), largest)) == {
        "roles": {"worker": expected, "worker_big": MARKETPLACE}
    }


def test_the_file_is_written_when_it_says_something_else(tmp_path):
    path = tmp_path / "limits.json"
    assert keep_limits(str(path), "one", check_mode=True) == ""
    assert not path.exists()
    assert keep_limits(str(path), "one", check_mode=False) == ""
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("one", 0o644)
    inode = path.stat().st_ino
    assert keep_limits(str(path), "one", check_mode=False) is None
    assert path.stat().st_ino == inode
    assert keep_limits(str(path), "two", check_mode=False) == "one"
    assert path.read_text() == "two"
    assert [file.name for file in tmp_path.iterdir()] == ["limits.json"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(PoolError, match=r"missing/limits\.json cannot be kept: No such file"):
        keep_limits(str(tmp_path / "missing" / "limits.json"), "one", check_mode=False)
