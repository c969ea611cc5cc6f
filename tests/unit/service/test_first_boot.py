# SPDX-License-Identifier: GPL-3.0-or-later
"""The recap of a run is read from its log."""

from __future__ import annotations

from tests.service.first_boot import changed_tasks, recap

LOG = """
TASK [onehpc.ondemand.common : Check the host's place in the service] *********
ok: [localhost]
TASK [onehpc.ondemand.storage : Export the homes] ******************************
changed: [localhost]
RUNNING HANDLER [onehpc.ondemand.storage : Refresh the exports] ***************
ok: [localhost]
PLAY RECAP *********************************************************************
localhost                  : ok=21   changed=1    unreachable=0    failed=0    skipped=4    rescued=0    ignored=0
"""


def test_the_figures_of_the_recap():
    assert recap(LOG) == {
        "ok": 21,
        "changed": 1,
        "unreachable": 0,
        "failed": 0,
        "skipped": 4,
        "rescued": 0,
        "ignored": 0,
    }


def test_a_log_without_recap_has_no_figures():
    assert recap("TASK [a] ***\nfatal: [localhost]: FAILED! => {}\n") == {}


def test_the_tasks_that_changed_something_are_named():
    assert changed_tasks(LOG) == ["onehpc.ondemand.storage : Export the homes"]
