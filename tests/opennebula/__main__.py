# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.opennebula serve --run-dir DIR --lab LABDIR``, started inside the lab's network namespace."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from pathlib import Path

from tests.opennebula.hypervisor import Hypervisor, NullHypervisor
from tests.opennebula.settings import Settings
from tests.opennebula.simulator import LOG_NAME, ONED_PORT, ONEFLOW_PORT, ONEGATE_PORT, Simulator


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    defaults = Settings()
    parser = argparse.ArgumentParser(prog="python -m tests.opennebula", description="OpenNebula simulator")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve until SIGTERM or the client's shutdown")
    serve.add_argument("--run-dir", type=Path, required=True, help="for socket, pid file, access file and log")
    serve.add_argument("--lab", type=Path, help="run directory of the lab; without it no guest is run")
    serve.add_argument("--listen", help="address; default: the lab's management gateway, else 127.0.0.1")
    serve.add_argument("--onegate-port", type=int, default=ONEGATE_PORT, help="0 takes a free one")
    serve.add_argument("--oneflow-port", type=int, default=ONEFLOW_PORT, help="0 takes a free one")
    serve.add_argument("--oned-port", type=int, default=ONED_PORT, help="0 takes a free one")
    serve.add_argument("--onegate-endpoint", default=defaults.onegate_endpoint, help="URL that contexts name")
    serve.add_argument("--autoscaler-interval", type=float, default=defaults.autoscaler_interval_seconds)
    serve.add_argument("--wait-timeout", type=float, default=defaults.wait_timeout_seconds)
    serve.add_argument("--shutdown-timeout", type=float, default=defaults.shutdown_timeout_seconds)
    serve.add_argument("--memory-limit-mib", type=int, help="no lab host gets more")
    serve.add_argument("--verbose", action="store_true", help="log every request")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Serve; the exit code is 0 after a wanted end."""
    arguments = _arguments(argv)
    arguments.run_dir.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=arguments.run_dir / LOG_NAME,
        level=logging.DEBUG if arguments.verbose else logging.INFO,
        format="%(message)s",
    )
    hypervisor: Hypervisor
    if arguments.lab:
        from tests.opennebula.lab_hypervisor import LabHypervisor

        lab = LabHypervisor(arguments.lab, arguments.memory_limit_mib)
        hypervisor, address = lab, arguments.listen or lab.gateway
    else:
        hypervisor, address = NullHypervisor(), arguments.listen or "127.0.0.1"
    settings = Settings(
        autoscaler_interval_seconds=arguments.autoscaler_interval,
        wait_timeout_seconds=arguments.wait_timeout,
        shutdown_timeout_seconds=arguments.shutdown_timeout,
        onegate_endpoint=arguments.onegate_endpoint,
    )
    simulator = Simulator(
        arguments.run_dir,
        hypervisor,
        address,
        settings,
        arguments.onegate_port,
        arguments.oneflow_port,
        arguments.oned_port,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: simulator.request_stop())
    simulator.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
