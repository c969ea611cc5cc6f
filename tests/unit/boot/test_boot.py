# SPDX-License-Identifier: GPL-3.0-or-later
"""An attempt of the first boot: what it publishes first, what it runs, and how it ends when something is wrong."""

from __future__ import annotations

import json
import time

import pytest

from tests.unit.boot.launcher import COMMIT, TOKEN

WITHDRAWAL = 'READY=NO\nSLURM_PENDING=0\nOLDEST_IDLE=0\nERROR=""'
STALE = {"READY": "YES", "SLURM_PENDING": "4", "OLDEST_IDLE": "1", "ERROR": "worker: an old story"}


def puts(onegate):
    return [request.form["data"] for request in onegate.requests if request.method == "PUT"]


def test_first_run_withdraws_in_one_update_before_the_playbook(host, onegate):
    onegate.user_template().update(STALE)
    host.program("ansible-playbook", f"cat {host.runtime}/ready_withdrawn > {host.root}/seen")
    attempt = host.boot()
    assert (attempt.status, attempt.lines) == (0, [f"Code of the image: version 0.1.0, commit {COMMIT}."])
    assert puts(onegate) == [WITHDRAWAL]
    assert (host.root / "seen").read_text() != ""
    assert host.calls()[-1] == "onehpc.ondemand.first_boot"


def test_later_run_of_the_same_boot_leaves_ready_alone(host, onegate):
    host.boot()
    onegate.user_template().update(READY="YES")
    onegate.requests.clear()
    assert host.boot().status == 0
    assert onegate.requests == []


def test_next_power_on_withdraws_again(host, onegate):
    host.boot()
    (host.runtime / "ready_withdrawn").write_text("the id of another boot\n")
    assert host.boot().status == 0
    assert puts(onegate) == [WITHDRAWAL, WITHDRAWAL]


def test_context_that_comes_late_is_waited_for(host):
    late = host.one_env.rename(host.root / "late")
    # What is written first has no closing quote yet.
    host.program(
        "systemctl", f"(printf 'export VMID=\"' > {host.one_env}; sleep 0.6; cp {late} {host.one_env}) & echo 0"
    )
    assert host.boot(context_seconds=10).status == 0


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda host: host.one_env.unlink(), "one_env cannot be read: No such file or directory."),
        (lambda host: host.one_env.write_text('export VMID="2'), "The value of VMID has no closing quote"),
        (lambda host: (host.one_env.unlink(), host.one_env.mkdir()), "one_env cannot be read: Is a directory."),
    ],
    ids=["missing", "unfinished", "unreadable"],
)
def test_without_a_context_it_ends_in_time_with_a_sentence(host, onegate, spoil, sentence):
    spoil(host)
    attempt = host.boot()
    assert attempt.status == 1
    (line,) = attempt.lines
    assert line.startswith("unknown role: the context: ")
    assert sentence in line
    assert line.endswith("Waited 0.2 s for it.")
    assert onegate.requests == []
    assert "onehpc.ondemand.first_boot" not in host.calls()


@pytest.mark.parametrize(
    ("fault", "sentence", "least_tries"),
    [
        ({"kind": "status", "status": 401, "body": "Not authorized"}, "answered 401 to PUT /vm", 1),
        ({"kind": "status", "status": 500, "body": "Internal server error"}, "HTTP 500 to GET /vm", 2),
        ({"kind": "silent"}, "it did not answer in time", 1),
    ],
    ids=["401", "500", "hanging"],
)
def test_onegate_that_fails_ends_it_in_time(host, onegate, fault, sentence, least_tries):
    onegate.fault(**fault)
    begin = time.monotonic()
    attempt = host.boot(onegate_seconds=4)
    assert time.monotonic() - begin < 20
    assert attempt.status == 1
    (line,) = attempt.lines
    assert line.startswith("worker: withdrawing READY: ")
    assert sentence in line
    assert TOKEN not in line
    assert len(onegate.requests) >= least_tries
    assert "onehpc.ondemand.first_boot" not in host.calls()


def test_refused_token_is_tried_once(host, onegate):
    onegate.fault("status", status=403, body="Attribute cannot be modified")
    onegate.faults[0].times = 0
    host.context(TOKENTXT="bm90IG91cnM=")
    assert host.boot(onegate_seconds=60).status == 1
    assert len(puts(onegate)) == 1


def test_onegate_that_refuses_connections_ends_it_in_time(host, onegate):
    onegate.close()
    attempt = host.boot(onegate_seconds=2)
    assert attempt.status == 1
    assert "the connection was refused" in attempt.lines[0]


def test_onegate_that_recovers_is_waited_for(host, onegate):
    onegate.fault("status", status=503, times=2)
    assert host.boot(onegate_seconds=30).status == 0
    assert puts(onegate)[-1] == WITHDRAWAL


PLAYBOOKS = {
    "does not parse": (
        "echo \"[ERROR]: couldn't resolve module/action 'a, b'. Often a misspelling.\" >&2; exit 4",
        "worker: the playbook of the first boot: couldn't resolve module/action 'a, b'. Often a misspelling. See "
        "journalctl -u onehpc-first-boot.",
    ),
    "crashes": (
        "kill -SEGV $$",
        "worker: the playbook of the first boot: it was ended by signal 11. See journalctl -u onehpc-first-boot.",
    ),
    "ends with a number": (
        "exit 250",
        "worker: the playbook of the first boot: it ended with 250. See journalctl -u onehpc-first-boot.",
    ),
    "hangs": (
        "trap '' TERM; setsid sleep 1000 & sleep 1000",
        "worker: the playbook of the first boot: it did not end within 1 s. See journalctl -u onehpc-first-boot.",
    ),
}


@pytest.mark.parametrize(("body", "sentence"), PLAYBOOKS.values(), ids=PLAYBOOKS.keys())
def test_playbook_that_cannot_speak_is_spoken_for(host, onegate, body, sentence):
    host.program("ansible-playbook", body)
    attempt = host.boot(playbook_seconds=1 if "sleep" in body else 30)
    assert (attempt.status, attempt.lines[-1]) == (1, sentence)
    published = onegate.user_template()
    assert (published["READY"], published["ERROR"]) == ("NO", sentence.replace(", ", "; "))
    assert not (host.runtime / "first_boot_finished").exists()


def test_nothing_that_a_hanging_playbook_started_outlives_it(host):
    # As Ansible's workers do, it leaves the process group.
    host.program("ansible-playbook", f"setsid sh -c 'echo $$ > {host.root}/pid; exec sleep 1000' & sleep 1000")
    assert host.boot(playbook_seconds=1).status == 1
    pid = (host.root / "pid").read_text().strip()
    with pytest.raises(FileNotFoundError):
        open(f"/proc/{pid}/cmdline").close()


@pytest.mark.parametrize(("more", "ready"), [({}, "YES"), ({"READY": "NO"}, "NO")])
def test_what_the_playbook_itself_says_stands_and_ready_is_its_own_matter(host, onegate, more, ready):
    told = json.dumps({"ERROR": "worker: Take the key: no key, yet", **more})
    host.boot()
    onegate.user_template().update(READY="YES")
    host.program("ansible-playbook", f"echo '{told}' > {host.runtime}/failure.json; exit 2")
    attempt = host.boot()
    assert (attempt.status, attempt.lines[-1]) == (1, "worker: Take the key: no key, yet")
    published = onegate.user_template()
    assert (published["READY"], published["ERROR"]) == (ready, "worker: Take the key: no key; yet")


def test_sentence_of_an_earlier_attempt_is_not_told_again(host):
    host.program("ansible-playbook", f'echo \'{{"ERROR": "an old story"}}\' > {host.runtime}/failure.json; exit 2')
    host.boot()
    host.program("ansible-playbook", "exit 3")
    assert "it ended with 3" in host.boot().lines[-1]


@pytest.mark.parametrize(("restarts", "line"), [(1, "Attempt 2 begins in 0.1 s."), (3, "Attempt 4 begins in 0.4 s.")])
def test_each_later_attempt_waits_longer(host, restarts, line):
    host.restarted_times(restarts)
    assert host.boot().lines[0] == line


def test_pause_has_a_longest(host):
    host.restarted_times(40)
    assert host.boot(longest_pause_seconds=0.2).lines[0] == "Attempt 41 begins in 0.2 s."
