# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a tick's unit and the runner say to each other: one packet each, over a SOCK_SEQPACKET socket.

The client sends a request with its three standard streams and gets READY or a refusal. Only its GO starts the
playbook, so a client that has given up waiting can run it by itself. The last packet is the exit status; when the
client shuts its side, the playbook is ended first.
"""

from __future__ import annotations

import json
import os
import socket
from collections import namedtuple
from collections.abc import Mapping

SOCKET_PATH = "/run/onehpc/tick.sock"
READY = b"ready"
GO = b"go"
REFUSED = b"refused: "
STATUS = b"status: "
PACKET_BYTES = 65536
STREAMS = 3

# What Ansible and Python take from the environment while they are loaded.
_READ_ONCE = ("ANSIBLE_", "PYTHON", "LC_")
_READ_ONCE_NAMES = ("HOME", "LANG", "LANGUAGE")


# A command as a cold run would have it. argv: list, the program's path first; environment: dict; directory: path;
# umask: permission bits. (A client lives for a few milliseconds: dataclasses alone would double its cost.)
TickRequest = namedtuple("TickRequest", ["argv", "environment", "directory", "umask"])


def own_request(argv: list) -> TickRequest:
    """The request for a command that behaves as if this process executed it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return TickRequest(argv, dict(os.environ), os.getcwd(), umask)


def send_request(connection: socket.socket, request: TickRequest, streams: list) -> None:
    """streams: three file descriptors; they may be closed afterwards. OSError when it cannot be sent."""
    socket.send_fds(connection, [json.dumps(request).encode()], streams)


def receive_request(connection: socket.socket) -> tuple[TickRequest, list]:
    """The request and its three file descriptors; ValueError on anything else."""
    data, streams, flags, _address = socket.recv_fds(connection, PACKET_BYTES, STREAMS)
    try:
        if len(streams) != STREAMS or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise ValueError("a request needs three streams and fits a packet")
        return TickRequest(*json.loads(data)), streams
    except (ValueError, TypeError) as error:
        for stream in streams:
            os.close(stream)
        raise ValueError(str(error)) from None


def differing_settings(own: Mapping[str, str], other: Mapping[str, str]) -> list:
    """Names of variables with another value that a loaded Ansible would not read again, sorted."""
    names = [name for name in {*own, *other} if name.startswith(_READ_ONCE) or name in _READ_ONCE_NAMES]
    return sorted(name for name in names if own.get(name) != other.get(name))
