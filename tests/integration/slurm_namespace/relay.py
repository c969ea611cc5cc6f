# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP port of this machine, reachable from inside a cluster's network namespace over a unix socket."""

from __future__ import annotations

import subprocess
import time

from tests.integration.slurm_namespace.cluster import CONTROLLER, CONTROLLER_ADDRESS


class Relay:
    """Two socat processes. Use it as a context manager; `endpoint` is where the hosts reach the port."""

    PORT = 5030

    def __init__(self, cluster, port):
        self._socket = cluster.run_dir / "relay.sock"
        self._commands = (
            ["socat", f"UNIX-LISTEN:{self._socket},fork", f"TCP:127.0.0.1:{port}"],
            [*cluster.command_prefix(CONTROLLER), "socat", f"TCP-LISTEN:{self.PORT},fork,bind={CONTROLLER_ADDRESS}",
             f"UNIX-CONNECT:{self._socket}"],
        )  # fmt: skip
        self._processes: list[subprocess.Popen] = []
        self.endpoint = f"http://{CONTROLLER_ADDRESS}:{self.PORT}"

    def __enter__(self):
        for command in self._commands:
            self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
        deadline = time.monotonic() + 10
        while not self._socket.exists():
            assert time.monotonic() < deadline, "the relay did not start"
            time.sleep(0.05)
        return self

    def __exit__(self, *_error):
        for process in self._processes:
            process.terminate()
            process.wait(10)
