# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of `scontrol --oneliner show` become fields, values with blanks included."""

from __future__ import annotations

import pytest

from tests.service.slurm_text import fields, is_live, reason_time, records, unix_time

NODE = (
    "NodeName=ood-worker-2 Arch=x86_64 CoresPerSocket=1 CPUAlloc=0 CPUTot=1 CPULoad=0.05 AvailableFeatures=worker "
    "Gres=(null) NodeAddr=10.77.0.12 OS=Linux 6.1.119 #1 SMP Debian RealMemory=886 State=IDLE+DRAIN+DYNAMIC_NORM "
    "BootTime=1800000100 SlurmdStartTime=1800000130 LastBusyTime=1800000200 CfgTRES=cpu=1,mem=886M,billing=1 "
    "Reason=onehpc:policies idle for 31 s [root@1800000300] Comment=(null) "
)
JOB = "JobId=7 JobName=second UserId=alice(2001) JobState=PENDING Reason=Resources Restarts=0 StartTime=Unknown"


def test_values_may_hold_blanks_and_equals_signs():
    node = fields(NODE)
    assert node["OS"] == "Linux 6.1.119 #1 SMP Debian"
    assert node["CfgTRES"] == "cpu=1,mem=886M,billing=1"
    assert node["Reason"] == "onehpc:policies idle for 31 s [root@1800000300]"
    assert node["Comment"] == "(null)"
    assert node["State"] == "IDLE+DRAIN+DYNAMIC_NORM"


def test_only_lines_with_the_key_are_records():
    assert [record["NodeName"] for record in records(f"{NODE}\n\n{NODE}\n", "NodeName")] == ["ood-worker-2"] * 2
    assert records("No nodes in the system\n", "NodeName") == []
    assert records("", "NodeName") == []


def test_a_reason_knows_when_it_was_set():
    assert reason_time(fields(NODE)) == 1800000300.0
    assert reason_time(fields("NodeName=a State=IDLE")) is None
    assert reason_time({"Reason": "no time in this one"}) is None


@pytest.mark.parametrize(("text", "time"), [("1800000100", 1800000100.0), ("Unknown", None), ("N/A", None), ("", None)])
def test_times(text, time):
    assert unix_time(text) == time


@pytest.mark.parametrize(
    ("state", "live"), [("PENDING", True), ("RUNNING", True), ("COMPLETING", True), ("COMPLETED", False)]
)
def test_live_jobs(state, live):
    assert is_live({**fields(JOB), "JobState": state}) is live
