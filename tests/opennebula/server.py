# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP over TCP and over a unix socket for the functions that answer requests."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.opennebula.clock import Clock
from tests.opennebula.messages import Request, Response

log = logging.getLogger(__name__)

Answer = Callable[[Request], Response]

#: Seconds after which a connection that says nothing is closed.
IDLE_SECONDS = 60

#: Bytes; larger bodies are refused.
LARGEST_BODY = 8 * 1024 * 1024


def _handler(answer: Answer, clock: Clock, label: str) -> type[BaseHTTPRequestHandler]:
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
                with clock.lock:
                    response = answer(request)
            except Exception:
                log.exception("%s: %s %s failed", label, self.command, target.path)
                response = Response(500, "the simulator failed, see its log")
            self._send(response)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _serve

        def _send(self, response: Response) -> None:
            payload = response.body.encode("utf-8", errors="surrogateescape")
            # neither Date nor Server: the real servers send none
            self.send_response_only(response.status)
            if response.content_type:
                self.send_header("Content-Type", response.content_type)
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
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

    def __init__(self, server: ThreadingHTTPServer, label: str) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, name=label, daemon=True)

    @classmethod
    def tcp(cls, address: str, port: int, answer: Answer, clock: Clock, label: str) -> HttpServer:
        """Listen on ``address``; port 0 takes a free one."""
        return cls(_TcpServer((address, port), _handler(answer, clock, label)), label)

    @classmethod
    def unix(cls, path: Path, answer: Answer, clock: Clock, label: str) -> HttpServer:
        """Listen on a unix socket that only its owner may use. An old socket file is replaced."""
        path.unlink(missing_ok=True)
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        old_mask = os.umask(0o177)
        try:
            # addresses of unix sockets are short (108 bytes), run directories are not
            server = _UnixServer(f"/proc/self/fd/{directory}/{path.name}", _handler(answer, clock, label))  # type: ignore[arg-type]
        finally:
            os.umask(old_mask)
            os.close(directory)
        return cls(server, label)

    @property
    def port(self) -> int:
        return self._server.server_port

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
