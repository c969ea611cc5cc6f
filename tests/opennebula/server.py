# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP over TCP and over a unix socket for the functions that answer requests, each in its connection's thread."""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.opennebula.messages import Delivery, Request, Response

log = logging.getLogger(__name__)

Answer = Callable[[Request], Response]

#: Seconds after which a connection that says nothing is closed.
IDLE_SECONDS = 60

#: SO_LINGER's value that makes closing a connection reset it.
RESET_ON_CLOSE = struct.pack("ii", 1, 0)

#: Bytes; larger bodies are refused.
LARGEST_BODY = 8 * 1024 * 1024


def _handler(answer: Answer, label: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = IDLE_SECONDS

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LARGEST_BODY:
                self._send(Response(413, "body too large"))
                return
            body = self.rfile.read(length)
            target = urlsplit(self.path)
            request = Request(
                method=self.command,
                path=target.path,
                query=dict(parse_qsl(target.query, keep_blank_values=True)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=body,
            )
            try:
                response = answer(request)
            except Exception:
                log.exception("%s: %s %s failed", label, self.command, target.path)
                response = Response(500, "the simulator failed, see its log")
            self._send(response)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _serve

        def _send(self, response: Response) -> None:
            if response.delivery is Delivery.NOTHING:
                self.close_connection = True
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                # taken from under the socket object, which would end it in peace
                os.close(self.connection.detach())
                return
            payload = response.body.encode("utf-8", errors="surrogateescape")
            # neither Date nor Server: the real servers send none
            self.send_response_only(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if response.content_type:
                self.send_header("Content-Type", response.content_type)
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Content-Length", str(len(payload)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if response.delivery is Delivery.CUT_SHORT:
                self.close_connection = True
                payload = payload[: len(payload) // 2]
            if response.content_type and self.command != "HEAD":
                self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            # headers carry tokens; method, path and status are enough
            log.debug("%s %s: %s", label, self.address_string(), format % args)

        def address_string(self) -> str:
            return str(self.client_address[0]) if self.client_address else "local"

    return Handler


class _TcpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        # a guest that loses its power leaves its connection half done
        log.debug("connection of %s broke", client_address, exc_info=True)


class _UnixServer(_TcpServer):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        connection, _ = self.socket.accept()
        return connection, ("local", 0)


class HttpServer:
    """One listening socket with its own thread; each connection gets another."""

    def __init__(self, listen: Callable[[int], ThreadingHTTPServer], port: int, label: str) -> None:
        self._listen = listen
        self._label = label
        self._server: ThreadingHTTPServer | None = listen(port)
        self._thread: threading.Thread | None = None
        #: The port listened on; it stays the same while connections are refused.
        self.port = self._server.server_port

    @classmethod
    def tcp(cls, address: str, port: int, answer: Answer, label: str) -> HttpServer:
        """Listen on ``address``; port 0 takes a free one."""
        return cls(lambda number: _TcpServer((address, number), _handler(answer, label)), port, label)

    @classmethod
    def unix(cls, path: Path, answer: Answer, label: str) -> HttpServer:
        """Listen on a unix socket that only its owner may use. An old socket file is replaced."""

        def listen(_port: int) -> ThreadingHTTPServer:
            path.unlink(missing_ok=True)
            directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            old_mask = os.umask(0o177)
            try:
                # addresses of unix sockets are short (108 bytes), run directories are not
                return _UnixServer(f"/proc/self/fd/{directory}/{path.name}", _handler(answer, label))  # type: ignore[arg-type]
            finally:
                os.umask(old_mask)
                os.close(directory)

        return cls(listen, 0, label)

    def start(self) -> None:
        """Answer requests; after :meth:`refuse` listen on the same port again."""
        if self._thread is not None:
            return
        if self._server is None:
            self._server = self._listen(self.port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name=self._label, daemon=True)
        self._thread.start()

    def refuse(self) -> None:
        """Listen no longer, so that new connections are refused; returns when it is so."""
        if self._server is None:
            return
        if self._thread is not None:
            self._server.shutdown()
            self._thread = None
        self._server.server_close()
        self._server = None

    stop = refuse
