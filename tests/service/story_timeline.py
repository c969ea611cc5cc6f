# SPDX-License-Identifier: GPL-3.0-or-later
"""The story's timeline: each line read back from the cloud's events, a guest's journal, or scontrol."""

from __future__ import annotations

from tests.service.cluster import node_name
from tests.service.slurm_text import reason_time, unix_time
from tests.service.story import Story
from tests.service.timeline import Entry

# How the lines that make up the story begin; one that is missing makes the demo fail.
STEPS = (
    "job {second_job} submitted",
    "rule SLURM_PENDING",
    "VM {second_worker} created",
    "VM {second_worker} kernel starts",
    "VM {second_worker} READY",
    "node of VM {second_worker} registered",
    "job {second_job} started",
    "job {first_job} ended",
    "node of VM {first_worker} drained",
    "VM {first_worker} publishes OLDEST_IDLE=1",
    "VM {second_worker} publishes OLDEST_IDLE=1",
    "rule OLDEST_IDLE",
    "VM {first_worker} removed",
    "node of VM {first_worker} deleted",
    "job {second_job} ended",
)


def steps(story: Story) -> list[str]:
    """STEPS with this story's numbers."""
    numbers = {
        "first_worker": story.first_worker,
        "second_worker": story.second_worker,
        "first_job": story.first_job["JobId"],
        "second_job": story.second_job["JobId"],
    }
    return [step.format(**numbers) for step in STEPS]


def entries(story: Story) -> list[Entry]:
    """All lines, in no order."""
    found = [entry for event in story.events if (entry := _of_event(event))]
    for vm_id, line in story.kernel_starts.items():
        time, _blank, text = line.partition(" ")
        version = text.partition("Linux version ")[2].partition(" ")[0]
        found.append(Entry(float(time), f"VM {vm_id} kernel starts (Linux {version})", f"journal of VM {vm_id}"))
    for job in (story.first_job, story.second_job):
        found += _of_job(job)
    for vm_id, node in ((story.first_worker, story.first_node), (story.second_worker, story.second_node)):
        time = unix_time(node["SlurmdStartTime"])
        if time:
            found.append(Entry(time, f"node of VM {vm_id} registered", f"scontrol show node {node['NodeName']}"))
    drained = reason_time(story.first_node_drained)
    if drained:
        reason = story.first_node_drained["Reason"].partition(" [")[0]
        source = f"scontrol show node {node_name(story.first_worker)}"
        found.append(Entry(drained, f"node of VM {story.first_worker} drained ({reason})", source))
    if story.node_gone_time:
        what = f"node of VM {story.first_worker} deleted (seen)"
        found.append(Entry(story.node_gone_time, what, "scontrol show node"))
    return found


def _of_event(event: dict) -> Entry | None:
    kind, vm, text = event["kind"], event["vm"], event["text"]
    if kind == "VM_CREATED":
        what = f"VM {vm} created ({event['role']})"
    elif kind == "READY" and text.endswith("-> YES"):
        what = f"VM {vm} READY"
    elif kind == "VM_STATE" and text == "RUNNING":
        what = f"VM {vm} powered on"
    elif kind == "VM_STATE" and text.startswith("SHUTDOWN"):
        what = f"VM {vm} told to power off"
    elif kind == "VM_STATE" and text.startswith("DONE"):
        what = f"VM {vm} removed"
    elif kind == "VM_UPDATE" and text.endswith("-> 1") and text.startswith(("OLDEST_IDLE:", "SLURM_PENDING:")):
        what = f"VM {vm} publishes {text.partition(':')[0]}=1"
    elif kind == "POLICY_FIRED":
        what = f"rule {text.partition(' ')[2]}"  # without its number
    elif kind == "SERVICE_STATE":
        what = f"service {text}"
    else:
        return None
    source = f"VM record {vm}" if vm is not None else f"service record, event {event['seq']}"
    return Entry(event["time"], what, source)


def _of_job(job: dict[str, str]) -> list[Entry]:
    source = f"scontrol show job {job['JobId']}"
    lines = (
        ("SubmitTime", f"job {job['JobId']} submitted ({job['JobName']})"),
        ("StartTime", f"job {job['JobId']} started on {job['NodeList']}"),
        ("EndTime", f"job {job['JobId']} ended ({job['JobState']})"),
    )
    return [Entry(time, what, source) for field, what in lines if (time := unix_time(job[field]))]
