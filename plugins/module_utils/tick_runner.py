# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The process that keeps Ansible loaded: it forks a child for each tick and ends with none of them."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.process_tree import Orphans, adopt_orphans, end_tree
from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_child import run_as_child
from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_code import LoadedCode
from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_request import (
    PACKET_BYTES,
    READY,
    REFUSED,
    STATUS,
    differing_settings,
    receive_request,
)

# About a day of ticks.
TICKS_BEFORE_RENEWAL = 3000
ORPHAN_PAUSE_SECONDS = 0.2


class Renewal(Exception):
    """The runner has to begin anew; the text says why."""


class TickRunner:
    """listener: a SOCK_SEQPACKET socket that listens; code: what is loaded; run: see run_as_child."""

    def __init__(self, listener: socket.socket, code: LoadedCode, run: Callable[[list], int]):
        self._listener = listener
        self._code = code
        self._run = run
        self._left = TICKS_BEFORE_RENEWAL
        self._waiting: dict = {}  # connection -> its request and streams, until its client says go
        self._running: dict = {}  # connection -> pid
        self._orphans = Orphans()
        self._selector = selectors.DefaultSelector()
        self._wakeup, self._waker = socket.socketpair()

    def serve(self) -> None:
        """Run ticks until the code on disk is another, enough of them have run, or SIGTERM comes; raises Renewal."""
        adopt_orphans()
        for end in (self._wakeup, self._waker):
            end.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_arguments: None)
        self._selector.register(self._listener, selectors.EVENT_READ, lambda _listener: self._accept())
        self._selector.register(self._wakeup, selectors.EVENT_READ, lambda wakeup: wakeup.recv(PACKET_BYTES))
        orphans = False
        while True:
            for key, _mask in self._selector.select(ORPHAN_PAUSE_SECONDS if orphans else None):
                key.data(key.fileobj)
            if self._reap() or orphans:
                orphans = self._orphans.end(self._running.values())
            if self._left <= 0 and not self._waiting and not self._running:
                raise Renewal(f"{TICKS_BEFORE_RENEWAL} ticks have run")

    def _accept(self) -> None:
        changed = self._code.changed_file()
        if changed and not self._waiting and not self._running:
            raise Renewal(f"{changed} has changed")  # the client waits in the listener's queue
        connection = self._listener.accept()[0]
        if changed:
            _say(connection, REFUSED + f"{changed} has changed".encode())
            connection.close()
            return
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ, self._take)

    def _take(self, connection: socket.socket) -> None:
        try:
            request, streams = receive_request(connection)
        except (OSError, ValueError):
            self._hang_up(connection)
            return
        self._waiting[connection] = request, streams
        differing = differing_settings(os.environ, request.environment)
        answer = REFUSED + f"its {', '.join(differing)} differs".encode() if differing else READY
        if _say(connection, answer) and not differing:
            self._selector.modify(connection, selectors.EVENT_READ, self._start)
        else:
            self._hang_up(connection)

    def _start(self, connection: socket.socket) -> None:
        if not _heard(connection):
            self._hang_up(connection)
            return
        request, streams = self._waiting[connection]
        try:
            pid = os.fork()
        except OSError as error:
            sys.stderr.write(f"A tick cannot be started: {error.strerror}.\n")
            self._hang_up(connection)
            return
        if pid == 0:
            try:
                self._waiting.pop(connection)
                self._leave(connection)
                run_as_child(request, streams, self._run)
            finally:
                os._exit(1)
        self._forget(connection)
        self._running[connection] = pid
        self._left -= 1
        self._selector.modify(connection, selectors.EVENT_READ, self._end)

    def _end(self, connection: socket.socket) -> None:
        """The client has gone, or waits for the end; what comes of it is seen when the child is reaped."""
        self._selector.unregister(connection)
        end_tree(self._running[connection])

    def _reap(self) -> bool:
        """Whether a tick has ended, which may have left something behind."""
        ended = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            for connection in [one for one, child in self._running.items() if child == pid]:
                _say(connection, STATUS + str(os.waitstatus_to_exitcode(status)).encode())
                del self._running[connection]
                ended = True
                self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        self._forget(connection)
        if connection in self._selector.get_map():
            self._selector.unregister(connection)
        connection.close()

    def _forget(self, connection: socket.socket) -> None:
        for stream in self._waiting.pop(connection, (None, ()))[1]:
            os.close(stream)

    def _leave(self, own: socket.socket) -> None:
        """In the child: close what is the runner's, and the other ticks'."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connections = [key.fileobj for key in self._selector.get_map().values()]
        self._selector.close()
        for connection in list(self._waiting):
            self._forget(connection)
        for end in {*connections, *self._running, self._waker, own}:
            end.close()


def serve(listener: socket.socket, code: LoadedCode, run: Callable[[list], int]) -> None:
    """Run ticks until SIGTERM; this program begins anew, on the same socket, whenever it has to."""
    try:
        TickRunner(listener, code, run).serve()
    except Renewal as reason:
        sys.stderr.write(f"The tick runner begins anew: {reason}.\n")
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _heard(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(PACKET_BYTES))
    except OSError:
        return False


def _say(connection: socket.socket, packet: bytes) -> bool:
    """Whether the client has it."""
    try:
        connection.sendall(packet)
    except OSError:
        return False
    return True
