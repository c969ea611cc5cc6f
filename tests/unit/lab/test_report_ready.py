# SPDX-License-Identifier: GPL-3.0-or-later
"""The imitation of the context package's READY hook, as a process against a server."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading

import pytest

from tests.lab.image.guest_files import GUEST_DIR
from tests.unit.lab.guest_programs import load_guest_program

HOOK = "etc/one-context.d/net-99-report-ready"


@pytest.fixture
def onegate():
    """A server that remembers each PUT as (path, token, VM id, body)."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.seen.append((self.path, self.headers["X-ONEGATE-TOKEN"], self.headers["X-ONEGATE-VMID"], body))
            self.send_response(server.answers.pop(0))
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.answers = [], [200]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def environment(tmp_path, onegate, report_ready):
    one_env = tmp_path / "one_env"
    port = onegate.server_address[1]
    one_env.write_text(
        f'export TOKENTXT="dG9r"\nexport VMID="7"\nexport ONEGATE_ENDPOINT="http://127.0.0.1:{port}"\n'
        'export NOTE="a\nexport VMID2="8"\n'
    )
    proxy = "http://127.0.0.1:9"
    return {**os.environ, "ENV_FILE": str(one_env), "REPORT_READY": report_ready, "http_proxy": proxy}


def run_hook(values):
    return subprocess.run(
        ["/usr/bin/python3", "-IS", str(GUEST_DIR / HOOK), "network"],
        env=values,
        text=True,
        capture_output=True,
        timeout=30,
        check=False,
    )


def test_ready_is_put_to_the_own_vm(tmp_path, onegate):
    done = run_hook(environment(tmp_path, onegate, "YES"))
    assert (done.returncode, done.stdout) == (0, "Reported READY\n")
    assert onegate.seen == [("/vm", "dG9r", "7", b"READY=YES")]


@pytest.mark.parametrize("report_ready", ["NO", "", "yes"])
def test_nothing_is_put_unless_the_template_says_yes(tmp_path, onegate, report_ready):
    assert run_hook(environment(tmp_path, onegate, report_ready)).returncode == 0
    assert onegate.seen == []


def test_three_attempts_then_it_gives_up(tmp_path, onegate, monkeypatch):
    hook = load_guest_program(HOOK)
    pauses = []
    monkeypatch.setattr(hook.time, "sleep", pauses.append)
    monkeypatch.setattr(hook.os, "environ", environment(tmp_path, onegate, "YES"))
    onegate.answers = [500, 401, 500]
    with pytest.raises(SystemExit, match="Failed to report READY"):
        hook.main()
    assert len(onegate.seen) == 3
    assert pauses == [10, 10]
