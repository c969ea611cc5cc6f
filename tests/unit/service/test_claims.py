# SPDX-License-Identifier: GPL-3.0-or-later
"""A claim holds for a story that went as it should, and for no story that did not."""

from __future__ import annotations

import copy

import pytest

from tests.service import claims
from tests.service.story import Story
from tests.service.story_timeline import entries, steps
from tests.service.timeline import missing

T = 1_800_000_000


def job(number: int, name: str, node: str, submit: int, start: int | str, end: int | str, state: str, reason="None"):
    return {
        "JobId": str(number),
        "JobName": name,
        "JobState": state,
        "Reason": reason,
        "Restarts": "0",
        "ExitCode": "0:0",
        "NodeList": node,
        "SubmitTime": str(submit),
        "StartTime": str(start),
        "EndTime": str(end),
    }


def event(seq: int, time: float, kind: str, text: str, vm: int | None = None):
    return {"seq": seq, "time": time, "kind": kind, "text": text, "vm": vm, "service": 1, "role": "worker"}


def good_story() -> Story:
    first = job(1, "first", "ood-worker-2", T, T + 1, T + 200, "COMPLETED")
    waiting = job(2, "second", "", T + 10, "Unknown", "Unknown", "PENDING", "Resources")
    started = job(2, "second", "ood-worker-3", T + 10, T + 150, "Unknown", "RUNNING")
    ended = job(2, "second", "ood-worker-3", T + 10, T + 150, T + 600, "COMPLETED")
    events = [
        event(1, T + 80.5, "POLICY_FIRED", "#0 SLURM_PENDING[1.0] > 0: +1"),
        event(2, T + 80.5, "CARDINALITY", "1 -> 2"),
        event(3, T + 80.6, "VM_CREATED", "worker_1_(service_1) created", vm=3),
        event(4, T + 155, "READY", "READY: NO -> YES", vm=3),
        event(5, T + 330, "VM_UPDATE", "OLDEST_IDLE: 0 -> 1", vm=2),
        event(6, T + 335, "VM_UPDATE", "OLDEST_IDLE: 0 -> 1", vm=3),
        event(7, T + 420, "POLICY_FIRED", "#1 OLDEST_IDLE[1.0] > 0.99: -1"),
        event(8, T + 420, "CARDINALITY", "2 -> 1"),
        event(9, T + 420.1, "VM_STATE", "SHUTDOWN", vm=2),
        event(10, T + 430, "VM_STATE", "DONE", vm=2),
    ]
    return Story(
        first_worker=2,
        second_worker=3,
        first_job=first,
        second_job_waiting=waiting,
        second_job_started=started,
        second_job=ended,
        job_output={
            "first": "boot_id aaa\nhostname ood-worker-2\ndone\n",
            "second": "boot_id bbb\nhostname ood-worker-3\ndone\n",
        },
        boot_ids={2: "aaa", 3: "bbb"},
        kernel_starts={
            2: f"{T - 60}.5 ood kernel: Linux version 6.1.119 (gcc)",
            3: f"{T + 82}.5 ood kernel: Linux version 6.1.119 (gcc)",
        },
        first_node={"NodeName": "ood-worker-2", "SlurmdStartTime": str(T - 10)},
        first_node_drained={
            "NodeName": "ood-worker-2",
            "State": "IDLE+DRAIN+DYNAMIC_NORM",
            "Reason": f"onehpc:policies idle [root@{T + 300}]",
        },
        second_node={"NodeName": "ood-worker-3", "SlurmdStartTime": str(T + 148)},
        second_job_after_removal=started,
        nodes_after_removal=["ood-worker-3"],
        node_gone_time=T + 440.25,
        all_jobs=[first, ended],
        accounted={1: "COMPLETED", 2: "COMPLETED"},
        events=events,
    )


def without(story: Story, *seqs: int) -> None:
    story.events = [event for event in story.events if event["seq"] not in seqs]


def changed(record: dict, **fields: str) -> dict:
    return {**record, **fields}


# claim -> changes of the good story, each of which must make it fail
SPOILERS = {
    claims.second_job_waited: [
        lambda s: s.second_job_waiting.update(Reason="JobHeldUser"),
        lambda s: s.second_job_started.update(StartTime=s.second_job_waiting["SubmitTime"]),
    ],
    claims.pool_grew_for_it: [
        lambda s: without(s, 1),
        lambda s: without(s, 3),
        lambda s: s.events[0].update(time=T + 5),
        lambda s: s.events[0].update(time=T + 81),
        lambda s: s.events.append(event(11, T + 85, "POLICY_FIRED", "#0 SLURM_PENDING[1.0] > 0: +1")),
    ],
    claims.second_worker_has_its_own_kernel: [
        lambda s: s.boot_ids.update({3: "ccc"}),
        lambda s: s.boot_ids.update({2: "bbb"}),
        lambda s: s.job_output.update(second=""),
    ],
    claims.second_job_ran_there: [
        lambda s: s.second_job.update(NodeList="ood-worker-2"),
        lambda s: s.second_job_started.update(NodeList="ood-worker-2"),
        lambda s: s.job_output.update(second="hostname ood-worker-2\n"),
    ],
    claims.oldest_was_drained_before_it_was_removed: [
        lambda s: s.first_node_drained.update(State="IDLE+DYNAMIC_NORM"),
        lambda s: s.first_node_drained.update(Reason=f"maintenance [root@{T + 300}]"),
        lambda s: s.first_node_drained.update(Reason=f"onehpc:policies idle [root@{T + 340}]"),
        lambda s: s.first_job.update(EndTime=str(T + 301)),
        lambda s: without(s, 5),
        lambda s: without(s, 7),
        lambda s: without(s, 9),
        lambda s: s.events[8].update(time=T + 400),
    ],
    claims.removed_by_oneflow: [
        lambda s: without(s, 10),
        lambda s: without(s, 8),
        lambda s: s.events.append(event(11, T + 500, "VM_STATE", "DONE", vm=3)),
    ],
    claims.node_was_deleted: [
        lambda s: s.nodes_after_removal.append("ood-worker-2"),
        lambda s: s.nodes_after_removal.clear(),
    ],
    claims.second_job_kept_running: [
        lambda s: setattr(s, "second_job_after_removal", changed(s.second_job_after_removal, JobState="PENDING")),
        lambda s: setattr(s, "second_job_after_removal", changed(s.second_job_after_removal, StartTime=str(T + 435))),
        lambda s: s.second_job.update(JobState="NODE_FAIL"),
        lambda s: s.second_job.update(StartTime=str(T + 435)),
        lambda s: s.job_output.update(second="boot_id bbb\n"),
    ],
    claims.no_job_failed_or_moved: [
        lambda s: s.all_jobs[0].update(Restarts="1"),
        lambda s: s.all_jobs[1].update(JobState="NODE_FAIL"),
        lambda s: s.all_jobs[1].update(ExitCode="1:0"),
        lambda s: s.all_jobs.pop(),
    ],
    claims.each_job_is_accounted: [
        lambda s: s.accounted.pop(2),
        lambda s: s.accounted.update({2: "RUNNING"}),
        lambda s: (s.accounted.clear(), s.all_jobs.clear()),
    ],
}


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.__name__)
def test_every_claim_holds_for_the_good_story(claim):
    found = claim(good_story())
    assert found.holds, found.evidence
    assert found.sentence
    assert found.evidence


@pytest.mark.parametrize(
    ("claim", "spoil"),
    [(claim, spoil) for claim in claims.CLAIMS for spoil in SPOILERS[claim]],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_claim_fails_when_what_it_says_did_not_happen(claim, spoil):
    story = copy.deepcopy(good_story())
    spoil(story)
    assert not claim(story).holds


def test_the_timeline_of_the_good_story_has_every_step():
    lines = entries(good_story())
    assert missing(lines, steps(good_story())) == []
    assert all(line.source for line in lines)


@pytest.mark.parametrize(
    ("spoil", "step"),
    [
        (lambda s: without(s, 1), "rule SLURM_PENDING"),
        (lambda s: without(s, 4), "VM 3 READY"),
        (lambda s: without(s, 6), "VM 3 publishes OLDEST_IDLE=1"),
        (lambda s: without(s, 10), "VM 2 removed"),
        (lambda s: s.kernel_starts.pop(3), "VM 3 kernel starts"),
        (lambda s: s.second_node.update(SlurmdStartTime="None"), "node of VM 3 registered"),
        (lambda s: s.first_node_drained.clear(), "node of VM 2 drained"),
        (lambda s: setattr(s, "node_gone_time", 0.0), "node of VM 2 deleted"),
        (lambda s: s.second_job.update(StartTime="Unknown"), "job 2 started"),
    ],
)
def test_a_step_that_was_not_read_back_is_missing_in_the_timeline(spoil, step):
    story = good_story()
    spoil(story)
    assert missing(entries(story), steps(story)) == [step]
