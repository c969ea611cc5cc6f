# SPDX-License-Identifier: GPL-3.0-or-later
"""The recap's `changed` figure can be believed."""

from __future__ import annotations

from tests.checks.environment import ROOT
from tests.checks.unchanged_tasks import hides_a_change, tasks


def test_only_pure_reads_are_marked_unchanged():
    paths = [*ROOT.glob("roles/*/tasks/**/*.yml"), *ROOT.glob("roles/*/handlers/*.yml"), *ROOT.glob("playbooks/*.yml")]
    assert paths
    hidden = [
        f"{path.relative_to(ROOT)}: {task.get('name')}"
        for path in paths
        for task in tasks(path)
        if hides_a_change(task)
    ]
    assert not hidden, "\n".join(hidden)
