# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading what `scontrol --oneliner show` prints. The tests read by themselves: the plugins' parser is under test."""

from __future__ import annotations

import re

_FIELD = re.compile(r"(?:^|\s)([A-Za-z][\w/:]*)=(.*?)(?=\s+[A-Za-z][\w/:]*=|\s*$)")
_LIVE_STATES = {"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "STOPPED", "COMPLETING"}


def fields(line: str) -> dict[str, str]:
    """KEY=value pairs of one line; a value may hold blanks (`Reason=text [root@time]`)."""
    return dict(_FIELD.findall(line.strip()))


def records(output: str, key: str) -> list[dict[str, str]]:
    """The lines of `output` that are records (they have `key`), e.g. JobId or NodeName."""
    return [record for record in map(fields, output.splitlines()) if key in record]


def is_live(job: dict[str, str]) -> bool:
    """Whether the job waits, runs or is about to end."""
    return job["JobState"] in _LIVE_STATES


def unix_time(text: str) -> float | None:
    """A time printed under SLURM_TIME_FORMAT=%s; None for `Unknown`, `None` and `N/A`."""
    return float(text) if re.fullmatch(r"\d+", text) else None


def reason_time(node: dict[str, str]) -> float | None:
    """When the node's reason was set: `Reason=text [root@1800000000]`."""
    found = re.search(r"\[[^@\]]*@(\d+)\]$", node.get("Reason", ""))
    return float(found.group(1)) if found else None
