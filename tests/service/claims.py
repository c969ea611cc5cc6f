# SPDX-License-Identifier: GPL-3.0-or-later
"""What the story shows, as claims: the demo prints them, the integration test asserts each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.service.cluster import node_name
from tests.service.slurm_text import reason_time
from tests.service.story import OUR_DRAIN, Story


@dataclass(frozen=True)
class Claim:
    """evidence: the readings the verdict rests on."""

    sentence: str
    holds: bool
    evidence: str


def output_value(output: str, name: str) -> str:
    """What a job printed after `name `."""
    found = re.search(rf"^{name} (.+)$", output, re.MULTILINE)
    return found.group(1) if found else ""


def event_times(story: Story, kind: str, vm: int | None = None, text: str = "") -> list[float]:
    """Times of the cloud's events of one kind, of one VM, with `text` in them."""
    return [
        event["time"]
        for event in story.events
        if event["kind"] == kind and (vm is None or event["vm"] == vm) and text in event["text"]
    ]


def second_job_waited(story: Story) -> Claim:
    """It could not start when it was submitted."""
    waiting = story.second_job_waiting
    started, submitted = float(story.second_job_started["StartTime"]), float(waiting["SubmitTime"])
    return Claim(
        "a job waited because the only worker was full",
        waiting["Reason"] == "Resources" and started > submitted,
        f"job {waiting['JobId']} pending with reason {waiting['Reason']}, started {started - submitted:.0f} s later",
    )


def pool_grew_for_it(story: Story) -> Claim:
    """OneFlow's own rule brought the second worker, after the job was submitted."""
    submitted = float(story.second_job_waiting["SubmitTime"])
    fired = [time for time in event_times(story, "POLICY_FIRED", text="SLURM_PENDING") if time > submitted]
    created = event_times(story, "VM_CREATED", story.second_worker)
    return Claim(
        "OneFlow's rule SLURM_PENDING > 0 brought a second worker",
        len(fired) == 1 and len(created) == 1 and created[0] >= fired[0],
        f"rule fired {_after(fired, submitted)}, VM {story.second_worker} created {_after(created, submitted)}",
    )


def second_worker_has_its_own_kernel(story: Story) -> Claim:
    """The job saw the boot id of the second worker, which no other kernel has."""
    seen = output_value(story.job_output["second"], "boot_id")
    others = {boot_id for vm_id, boot_id in story.boot_ids.items() if vm_id != story.second_worker}
    return Claim(
        "the second worker booted its own kernel and ran the job",
        bool(seen) and seen == story.boot_ids[story.second_worker] and seen not in others,
        f"boot id in the job's output {seen}, of VM {story.second_worker} {story.boot_ids[story.second_worker]}",
    )


def second_job_ran_there(story: Story) -> Claim:
    """Slurm gave it to the second worker's node and to no other."""
    ran_on = {story.second_job_started["NodeList"], story.second_job["NodeList"]}
    host = output_value(story.job_output["second"], "hostname")
    node = node_name(story.second_worker)
    return Claim(
        "the waiting job ran on the second worker from its start to its end",
        ran_on == {node} and host == node,
        f"NodeList {', '.join(sorted(ran_on))}, hostname in its output {host}",
    )


def oldest_was_drained_before_it_was_removed(story: Story) -> Claim:
    """Drain, then OLDEST_IDLE=1, then the rule, then the shutdown, in this order, with the first job over before."""
    ended = float(story.first_job["EndTime"])
    drained = reason_time(story.first_node_drained) or 0.0
    idle = event_times(story, "VM_UPDATE", story.first_worker, "OLDEST_IDLE: 0 -> 1")
    fired = event_times(story, "POLICY_FIRED", text="OLDEST_IDLE")
    shutdown = event_times(story, "VM_STATE", story.first_worker, "SHUTDOWN")
    steps = [ended, drained, *idle[:1], *fired[:1], *shutdown[:1]]
    return Claim(
        "the oldest worker was idle, then drained, then said so, and only then removed",
        len(steps) == 5
        and steps == sorted(steps)
        and "DRAIN" in story.first_node_drained["State"]
        and story.first_node_drained["Reason"].startswith(OUR_DRAIN),
        f"after its job's end: drained {drained - ended:.0f} s, OLDEST_IDLE=1 {_after(idle, ended)}, "
        f"rule fired {_after(fired, ended)}, shutdown {_after(shutdown, ended)}",
    )


def removed_by_oneflow(story: Story) -> Claim:
    """The first worker is DONE, the second is not."""
    done = event_times(story, "VM_STATE", story.first_worker, "DONE")
    other = event_times(story, "VM_STATE", story.second_worker, "DONE")
    lowered = event_times(story, "CARDINALITY", text="2 -> 1")
    return Claim(
        "OneFlow removed the oldest worker and left the other",
        len(done) == 1 and not other and len(lowered) == 1,
        f"VM {story.first_worker} DONE {len(done)} times, VM {story.second_worker} {len(other)} times",
    )


def node_was_deleted(story: Story) -> Claim:
    """Slurm knows the second worker's node only."""
    return Claim(
        "the node of the removed worker was deleted, the other stayed",
        story.nodes_after_removal == [node_name(story.second_worker)],
        f"nodes after the removal: {', '.join(story.nodes_after_removal)}",
    )


def second_job_kept_running(story: Story) -> Claim:
    """It ran before the removal, after it, and ended by itself."""
    after, end = story.second_job_after_removal, story.second_job
    return Claim(
        "the job on the other worker kept running to its end",
        after["JobState"] == "RUNNING"
        and after["StartTime"] == story.second_job_started["StartTime"] == end["StartTime"]
        and end["JobState"] == "COMPLETED"
        and story.job_output["second"].splitlines()[-1:] == ["done"],
        f"job {end['JobId']} {after['JobState']} after the removal, then {end['JobState']} ({end['ExitCode']})",
    )


def no_job_failed_or_moved(story: Story) -> Claim:
    """Each record of slurmctld: completed, never restarted, exit code 0."""
    good = [
        job["JobState"] == "COMPLETED" and job["Restarts"] == "0" and job["ExitCode"] == "0:0" for job in story.all_jobs
    ]
    lines = [f"job {job['JobId']} {job['JobState']} Restarts={job['Restarts']}" for job in story.all_jobs]
    return Claim("no job failed or moved", len(good) >= 2 and all(good), ", ".join(lines))


def each_job_is_accounted(story: Story) -> Claim:
    """The accounting database has each of slurmctld's records, in the same state."""
    expected = {int(job["JobId"]): job["JobState"] for job in story.all_jobs}
    lines = [f"job {job_id} {state}" for job_id, state in sorted(story.accounted.items())]
    return Claim(
        "each job is in the accounting database", bool(expected) and story.accounted == expected, ", ".join(lines)
    )


CLAIMS: tuple[Callable[[Story], Claim], ...] = (
    second_job_waited,
    pool_grew_for_it,
    second_worker_has_its_own_kernel,
    second_job_ran_there,
    oldest_was_drained_before_it_was_removed,
    removed_by_oneflow,
    node_was_deleted,
    second_job_kept_running,
    no_job_failed_or_moved,
    each_job_is_accounted,
)


def _after(times: list[float], start: float) -> str:
    return f"{times[0] - start:.0f} s after" if times else "never"
