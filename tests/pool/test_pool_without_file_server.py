# SPDX-License-Identifier: GPL-3.0-or-later
"""The file server hangs: its guest is frozen, so it neither answers nor refuses."""

from __future__ import annotations

import pytest

from tests.pool.template import WORKER
from tests.service.service import host_name

TICKS = 20
LONGEST_TICK_SECONDS = 10
# A look at a hung mount waits in the kernel; of those that are the kernel's own (children of kthreadd) we know nothing.
STUCK = "ps -eo pid=,ppid=,stat=,user=,args= | awk '$2 != 2 && $3 ~ /^D/'"


@pytest.fixture(scope="module")
def hung(pool):
    """Ticks and stuck processes of a worker while the file server hangs, and what it published then."""
    worker, storage = pool.workers(WORKER)[0], host_name(pool.service.single("storage"))
    pool.wait_healthy(worker)
    usual = pool.tick(worker)
    pool.service.lab.freeze(storage)
    try:
        ticks = [pool.tick(worker) for _ in range(TICKS)]
        stuck = pool.service.run(worker, STUCK).stdout.splitlines()
        published = pool.figures(worker)
    finally:
        pool.service.lab.thaw(storage)
    return worker, usual, ticks, stuck, published


def test_a_tick_takes_seconds(hung):
    _, usual, ticks, _, _ = hung
    assert [tick.output for tick in ticks if not tick.succeeded] == []
    # On a busy machine any tick takes longer.
    assert max(tick.seconds for tick in ticks) < max(LONGEST_TICK_SECONDS, 2 * usual.seconds)


def test_the_worker_says_that_it_is_not_healthy(hung):
    *_, published = hung
    assert published["HEALTHY"] == "0"


def test_at_most_one_look_is_stuck(hung):
    *_, stuck, _ = hung
    assert len(stuck) <= 1, "\n".join(stuck)


def test_it_is_healthy_again_once_the_server_answers(pool, hung):
    pool.wait_healthy(hung[0])
