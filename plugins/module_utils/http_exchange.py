# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One HTTP request with a deadline that holds for the whole of it.

http.client alone has a timeout for each read only: a server that sends one byte now and then could hold a
caller for ever. No proxy setting of the environment is honoured and no redirect is followed, so the headers
(they carry the VM's token) go to the endpoint only.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

MAXIMUM_BODY_BYTES = 16 * 1024 * 1024


class ExchangeFailed(Exception):
    """No complete HTTP answer came; the text says why as a clause."""


@dataclass(frozen=True)
class Answer:
    """A complete HTTP answer; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def exchange(method, endpoint, path, headers, body, deadline, connect_timeout_seconds=None):
    """Send one request and return its Answer.

    endpoint: http(s)://host[:port][/prefix]; body: bytes or None; deadline: Deadline for everything together;
    connect_timeout_seconds: less time for the connection alone. Raises ExchangeFailed.
    """
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with _connect(parts, port, deadline, connect_timeout_seconds) as sock:
            connection = http.client.HTTPConnection(parts.hostname, port)
            connection.sock = _DeadlineSocket(sock, deadline)
            connection.request(method, parts.path.rstrip("/") + path, body, dict(headers, Connection="close"))
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, _read_body(response))
    except (socket.timeout, TimeoutError):
        raise ExchangeFailed("it did not answer in time") from None
    except ConnectionRefusedError:
        raise ExchangeFailed("the connection was refused") from None
    except http.client.RemoteDisconnected:
        raise ExchangeFailed("it closed the connection without an answer") from None
    except http.client.IncompleteRead:
        raise ExchangeFailed("the answer was cut off") from None
    except http.client.HTTPException as error:
        raise ExchangeFailed(f"the answer was not HTTP ({type(error).__name__})") from None
    except OSError as error:
        raise ExchangeFailed("the connection failed: %s" % (error.strerror or error)) from None


def _connect(parts, port, deadline, connect_timeout_seconds):
    address = _resolve(parts.hostname, port, deadline)
    timeout = deadline.remaining_seconds
    if connect_timeout_seconds is not None:
        timeout = min(timeout, connect_timeout_seconds)
    sock = socket.create_connection(address, timeout=_positive(timeout))
    if parts.scheme != "https":
        return sock
    try:
        sock.settimeout(_positive(deadline.remaining_seconds))
        return ssl.create_default_context().wrap_socket(sock, server_hostname=parts.hostname)
    except BaseException:
        sock.close()
        raise


def _resolve(host, port, deadline):
    """(address, port) of a host. A resolver cannot be given a timeout, so a name is looked up in a thread."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0][4][:2]
    except socket.gaierror:
        pass
    found = []

    def look_up():
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][:2])
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(deadline.remaining_seconds)
    if not found:
        raise ExchangeFailed(f"the name {host} could not be resolved in time")
    if isinstance(found[0], OSError):
        raise ExchangeFailed(f"the name {host} could not be resolved")
    return found[0]


def _read_body(response):
    body = response.read(MAXIMUM_BODY_BYTES + 1)
    if len(body) > MAXIMUM_BODY_BYTES:
        raise ExchangeFailed(f"the answer is larger than {MAXIMUM_BODY_BYTES} bytes")
    if response.length:  # read(amount) does not complain of a body shorter than its Content-Length
        raise ExchangeFailed("the answer was cut off")
    return body


def _positive(seconds):
    """A socket timeout of 0 would mean non-blocking."""
    if seconds <= 0:
        raise socket.timeout()
    return seconds


class _DeadlineSocket:
    """A connected socket whose every operation gets only the time that is left."""

    def __init__(self, sock, deadline):
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data):
        self._sock.settimeout(_positive(self._deadline.remaining_seconds))
        self._sock.sendall(data)

    def makefile(self, mode):
        return io.BufferedReader(_DeadlineReader(self._sock, self._deadline))

    def close(self):
        """Nothing: http.client closes its side before the body is read; exchange() closes the real socket."""


class _DeadlineReader(io.RawIOBase):
    def __init__(self, sock, deadline):
        super().__init__()
        self._sock = sock
        self._deadline = deadline

    def readable(self):
        return True

    def readinto(self, buffer):
        self._sock.settimeout(_positive(self._deadline.remaining_seconds))
        return self._sock.recv_into(buffer)
