# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A tick's unit: its playbook runs in the runner's child, its output and exit status are those of this process."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys

from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_request import (
    GO,
    PACKET_BYTES,
    READY,
    STATUS,
    own_request,
    send_request,
)

ANSWER_SECONDS = 2.0
# The runner needs a moment to end what the playbook has started.
END_SECONDS = 5.0


class NotAnswering(Exception):
    """The runner has not taken the tick; nothing of it has run."""


class Stopped(Exception):
    """This process was told to end."""


def main(argv: list, socket_path: str) -> int:
    """Run a command (argv: the program's path first) warm and return its exit status, or become it, cold."""
    try:
        connection, output = _hand_over(argv, socket_path)
    except NotAnswering as error:
        sys.stderr.write(f"The tick runner does not take this tick ({error}): it runs cold.\n")
        os.execv(argv[0], argv)
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _follow(connection, output, None)
    except Stopped:
        connection.shutdown(socket.SHUT_WR)
        _follow(connection, output, END_SECONDS)
        return 128 + signal.SIGTERM


def _stop(_number, _frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def _hand_over(argv: list, socket_path: str) -> tuple[socket.socket, dict]:
    """The connection of a tick that the runner has taken, and {stream to read: stream to write}."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(ANSWER_SECONDS)
    output, given = {}, [os.dup(0)]
    for target in (1, 2):
        source, stream = os.pipe()
        output[source] = target
        given.append(stream)
    try:
        connection.connect(socket_path)
        send_request(connection, own_request(argv), given)
        answer = connection.recv(PACKET_BYTES)
        if answer != READY:
            raise NotAnswering(answer.decode() or "it has hung up")
        connection.sendall(GO)
    except OSError as error:
        raise NotAnswering(f"{socket_path}: {error.strerror or error}") from None
    finally:
        for stream in given:
            os.close(stream)
    connection.settimeout(None)
    return connection, output


def _follow(connection: socket.socket, output: dict, seconds: float | None) -> int:
    """Pass the output on until the exit status comes; seconds: the longest wait for anything, None: for ever."""
    while True:
        ready = select.select([connection, *output], [], [], seconds)[0]
        _pass_on([stream for stream in ready if stream in output], output)
        if connection in ready:
            answer = _received(connection)
            _pass_on(select.select([*output], [], [], 0)[0], output)
            return _status(answer)
        if not ready:
            return _status(b"")


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(PACKET_BYTES)
    except OSError:
        return b""


def _pass_on(ready: list, output: dict) -> None:
    for source in ready:
        data = os.read(source, PACKET_BYTES)
        if not data:
            os.close(source)
            output.pop(source)
        while data:
            data = data[os.write(output.get(source, 2), data) :]


def _status(answer: bytes) -> int:
    if not answer.startswith(STATUS):
        sys.stderr.write("The tick runner has ended in the midst of this tick.\n")
        return 1
    code = int(answer[len(STATUS) :])
    if code < 0:
        sys.stderr.write(f"The tick's process was ended by signal {-code}.\n")
    return code if code >= 0 else 128 - code
