# SPDX-License-Identifier: GPL-3.0-or-later
"""The management console of a user-mode Linux guest: one datagram asks, one or more answer.

Layout: arch/um/drivers/mconsole.h of the Linux source (magic, version, length, 512 bytes; error, more, length, text).
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
from pathlib import Path

from tests.lab.errors import LabError

MAGIC = 0xCAFEBABE
VERSION = 2
TEXT_BYTES = 512


def ask(guest_socket: Path, command: str, timeout_seconds: float = 10) -> str:
    """Sends one command ("cad" presses Ctrl-Alt-Del, "version" answers only) and returns the answer.

    LabError when the guest refuses it, does not answer in time or has no console (yet).
    """
    own = guest_socket.with_name(f"ask-{os.getpid()}-{secrets.token_hex(3)}")
    request = struct.pack("=III", MAGIC, VERSION, len(command)) + command.encode().ljust(TEXT_BYTES, b"\0")
    answer = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        try:
            connection.bind(str(own))
            connection.settimeout(timeout_seconds)
            connection.sendto(request, str(guest_socket))
            more = 1
            while more:
                reply = connection.recv(4096)
                error, more, length = struct.unpack_from("=III", reply)
                answer += reply[12 : 12 + length]
        except OSError as failure:
            raise LabError(f"the guest's console {guest_socket} did not take {command!r}: {failure}") from failure
        finally:
            own.unlink(missing_ok=True)
    text = answer.rstrip(b"\0").decode(errors="replace")
    if error:
        raise LabError(f"the guest's console {guest_socket} refused {command!r}: {text}")
    return text
