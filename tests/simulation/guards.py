# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool's guards, each with a way to switch it off. The product has no such switches: its functions are replaced."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from ansible_collections.onehpc.ondemand.plugins.module_utils import (
    pool_change,
    pool_direct,
    pool_direct_drain,
    pool_direct_terminate,
    pool_portal,
    pool_reconcile,
    pool_removal,
    pool_worker,
    pool_worker_clock,
    pool_worker_return,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_direct_view import DirectView
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_names import IDLE_REASON, RETURNING_REASON
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_pending import PendingCount
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_reading import SlurmReading
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_role import RoleView
from ansible_collections.onehpc.ondemand.plugins.module_utils.slurm_nodes import SlurmNode
from tests.simulation.schedule import DIRECT, POLICIES

NOTHING_WAITS = PendingCount(0, frozenset())
ALWAYS = property(lambda self: True)
NEVER = property(lambda self: False)


@dataclass(frozen=True)
class Guard:
    """``off``: without it for a while. ``mode``: in which it is looked at."""

    name: str
    mode: str
    off: Callable[[], AbstractContextManager[Any]]


def _replaced(target: object, name: str, value: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(target, name, value)


@contextmanager
def _drains_whatever_waits():
    guarded = pool_worker.obstacle_to_drain

    def obstacle(policy, reading, view, pending, node, memory):
        return guarded(policy, reading, view, NOTHING_WAITS, node, memory)

    with patch.object(pool_worker, "obstacle_to_drain", obstacle):
        yield


@contextmanager
def _drains_directly_whatever_waits():
    guarded = pool_direct.drains
    with patch.object(pool_direct, "drains", lambda role: guarded(replace(role, pending=NOTHING_WAITS))):
        yield


@contextmanager
def _foreign_drains_do_not_count():
    """A node that somebody has drained passes for an untouched one, when deciding and right before the change."""
    is_idle = SlurmNode.is_idle.fget

    def idle_but_for_a_drain(node: SlurmNode) -> bool:
        return is_idle(replace(node, flags=node.flags - {"DRAIN"}))

    with ExitStack() as stack:
        stack.enter_context(patch.object(SlurmNode, "is_untouched", ALWAYS))
        stack.enter_context(patch.object(SlurmNode, "is_idle", property(idle_but_for_a_drain)))
        stack.enter_context(patch.object(pool_change, "_is_as_decided", lambda *_: True))
        yield


@contextmanager
def _oldest_goes_with_jobs():
    """OLDEST_IDLE looks at the drain alone, not at what is on the node or waits for it."""

    def may_go(view: RoleView, pending: PendingCount) -> bool:
        node = view.slurm.machine(view.oldest_name) if view.oldest_name else None
        return node is not None and node.has_drain_flag and node.reason == IDLE_REASON and view.service.is_running

    with patch.object(RoleView, "oldest_may_go", may_go):
        yield


@contextmanager
def _returning_oldest_still_goes():
    guarded = RoleView.oldest_may_go

    def may_go(view: RoleView, pending: PendingCount) -> bool:
        nodes = tuple(
            replace(node, reason=IDLE_REASON) if node.reason == RETURNING_REASON else node for node in view.slurm.nodes
        )
        return guarded(replace(view, slurm=SlurmReading(nodes, view.slurm.jobs)), NOTHING_WAITS)

    with ExitStack() as stack:
        stack.enter_context(patch.object(RoleView, "oldest_may_go", may_go))
        publication = pool_worker.memory_after_publication
        stack.enter_context(
            patch(
                f"{pool_worker.__name__.rpartition('.')[0]}.pool_report.memory_after_publication",
                lambda memory, is_returning, _, at: publication(memory, is_returning, 0, at),
            )
        )
        yield


@contextmanager
def _silence_is_not_asked_for():
    """Whatever OneFlow does not list is gone, though its node responds."""

    def is_responding(node: SlurmNode) -> bool:
        is_lost = node.base_state == "DOWN" or "NOT_RESPONDING" in node.flags
        return node.base_state in ("IDLE", "MIXED", "ALLOCATED") and not is_lost

    with ExitStack() as stack:
        stack.enter_context(patch.object(SlurmNode, "is_gone_for_slurm", ALWAYS))
        stack.enter_context(patch.object(SlurmNode, "is_responding", property(is_responding)))
        yield


@contextmanager
def _deletes_under_jobs():
    guarded = pool_portal.verdict

    def verdict(node, policy, reading, memory):
        without_jobs = replace(reading, slurm=SlurmReading(reading.slurm.nodes, ()))
        return guarded(node, policy, without_jobs, memory)

    with patch.object(pool_portal, "verdict", verdict):
        yield


@contextmanager
def _judges_while_frozen():
    guarded = pool_portal.judge_frozen
    with patch.object(pool_portal, "judge_frozen", lambda *given: replace(guarded(*given), is_state=False)):
        yield


@contextmanager
def _terminates_with_jobs():
    with ExitStack() as stack:
        stack.enter_context(patch.object(DirectView, "is_empty", lambda role, node: True))
        stack.enter_context(patch.object(pool_direct_terminate, "_was_empty_before", lambda role, node: True))
        stack.enter_context(
            patch.object(pool_direct_terminate.Termination, "still_holds", lambda self, node: node is not None)
        )
        yield


GUARDS = (
    Guard("idle clock", POLICIES, _replaced(pool_worker_clock, "idle_since", lambda *_: 1)),
    Guard("minimum", POLICIES, _replaced(RoleView, "is_above_minimum", ALWAYS)),
    Guard("nothing waits", POLICIES, _drains_whatever_waits),
    Guard("foreign drains", POLICIES, _foreign_drains_do_not_count),
    Guard("grace of a return", POLICIES, _replaced(pool_worker_return, "RETURN_GRACE_SECONDS", 0)),
    Guard("a returning oldest withholds OLDEST_IDLE", POLICIES, _returning_oldest_still_goes),
    Guard("an oldest with jobs withholds OLDEST_IDLE", POLICIES, _oldest_goes_with_jobs),
    Guard("only in RUNNING", POLICIES, _replaced(Service, "is_running", ALWAYS)),
    Guard(
        "frozen states return a drained worker", POLICIES, _replaced(pool_worker_return, "is_frozen", lambda *_: False)
    ),
    Guard(
        "two complete readings before a deletion", POLICIES, _replaced(pool_removal, "_is_confirmed", lambda *_: True)
    ),
    Guard("a responding node is alive", POLICIES, _silence_is_not_asked_for),
    Guard("live jobs keep a node from its deletion", POLICIES, _deletes_under_jobs),
    Guard("frozen states delete nothing", POLICIES, _judges_while_frozen),
    Guard(
        "a frozen service is named",
        POLICIES,
        _replaced(pool_reconcile, "publish_frozen", lambda _c, _s, memory: memory),
    ),
    Guard("direct: idle clock", DIRECT, _replaced(pool_direct_drain, "_idle_since", lambda *_: 0)),
    Guard("direct: minimum", DIRECT, _replaced(DirectView, "minimum", property(lambda self: 0))),
    Guard("direct: nothing waits", DIRECT, _drains_directly_whatever_waits),
    Guard("direct: empty before a terminate", DIRECT, _terminates_with_jobs),
    Guard("direct: foreign drains", DIRECT, _foreign_drains_do_not_count),
)
