# SPDX-License-Identifier: GPL-3.0-or-later
"""A tick through the runner: what it says and how it ends is what the same command says and does by itself."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.checks.environment import VENV_BIN
from tests.unit.tick.runner_host import PLAYBOOK

COLD = "it runs cold."


def warm(host, **environment):
    """A tick of which the runner's child is seen to have run it."""
    status, output, errors = host.tick(**environment)
    assert COLD not in errors
    return status, output, errors


def test_output_and_status_are_those_of_a_cold_run(host):
    host.act("    print('on stderr', file=sys.stderr)\n    return {'msg': 'w\\u00f6rter', 'changed': True}")
    cold = subprocess.run(
        [VENV_BIN / "ansible-playbook", PLAYBOOK],
        env=host.environment,
        cwd=host.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "changed=1" in cold.stdout
    assert warm(host) == (cold.returncode, cold.stdout, cold.stderr)


@pytest.mark.parametrize(
    ("tasks", "status"),
    [
        ("    - acme.tiny.act:\n", 2),
        ("    - acme.tiny.nothing:\n", 4),
        ("    - {", 4),
    ],
    ids=["fails", "unknown module", "no YAML"],
)
def test_failing_playbook_gives_its_own_status(host, tasks, status):
    host.act("    return {'failed': True, 'msg': 'a reason'}")
    host.tasks(tasks)
    got, output, errors = warm(host)
    assert got == status, output + errors
    assert "a reason" in output or "ERROR" in errors


def test_process_is_as_the_unit_would_have_started_it(host):
    seen = (
        "{'environment': dict(os.environ), 'directory': os.getcwd(), 'umask': os.umask(0o22), "
        "'open': sorted(re.sub('[0-9]+', '', os.readlink(f.path)) for f in os.scandir('/proc/%d/fd' % os.getppid())), "
        "'signals': [line for line in open('/proc/%d/status' % os.getppid()) if line[:3] == 'Sig'][1:], "
        "'leader': os.getsid(os.getppid()) == os.getppid(), "
        "'collections': sorted(n for n in sys.modules if n.startswith('ansible_collections.onehpc')), "
        "'argv': sys.argv}"
    )
    host.act(f"    import json, re\n    json.dump({seen}, open('{host.root}/seen', 'w'))\n    return {{}}")
    settings = {"INVOCATION_ID": "4f1c2a"}

    def look(start):
        assert start() == 0
        return json.loads((host.root / "seen").read_text())

    def cold():
        # In a session of its own, as systemd starts it.
        command = [str(VENV_BIN / "ansible-playbook"), PLAYBOOK]
        environment = {**host.environment, **settings}
        return subprocess.run(
            command, env=environment, cwd=host.root, start_new_session=True, capture_output=True, check=False
        ).returncode

    before = look(cold)
    umask = os.umask(0o027)
    try:
        after = look(lambda: warm(host, **settings)[0])
    finally:
        os.umask(umask)
    assert after.pop("umask") == 0o027
    before.pop("umask")
    assert after == before
    assert after["environment"]["INVOCATION_ID"] == "4f1c2a"
    assert after["collections"] == []


def test_edits_are_in_force_at_the_next_tick(host):
    assert "by first" not in warm(host)[1]
    host.tasks("    - acme.tiny.act:\n      register: done\n    - debug: {msg: 'said {{ done.msg }}'}\n")
    assert "said by first" in warm(host)[1]
    host.act("    return {'msg': 'by an edit'}")
    assert "said by an edit" in warm(host)[1]


def test_another_source_of_code_is_followed(host):
    tasks = "    - acme.tiny.act:\n      register: done\n    - debug: {msg: 'said {{ done.msg }}'}\n"
    host.tasks(tasks)
    assert "said by first" in warm(host)[1]
    other = host.pull("pulled")
    host.tasks(tasks, other)
    assert "said by pulled" in warm(host)[1]


def test_changed_configuration_is_in_force_at_the_next_tick(host):
    assert "PLAY RECAP" in warm(host)[1]
    host.configure("stdout_callback = ansible.builtin.oneline")
    status, output, _errors = host.tick()  # cold where the runner takes longer to begin anew than a tick waits
    assert (status, "PLAY RECAP" in output) == (0, False)
    assert "ansible.cfg has changed" in host.log.read_text()
    (host.root / "inventory").write_text("elsewhere ansible_connection=local\n")
    assert "elsewhere" in host.tick()[1]


def test_ticks_at_the_same_time(host):
    host.act("    time.sleep(0.5)\n    return {}")
    ticks = [host.begin_tick() for _ in range(3)]
    for tick in ticks:
        output, errors = tick.communicate(timeout=60)
        assert (tick.returncode, errors) == (0, ""), output
