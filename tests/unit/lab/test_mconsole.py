# SPDX-License-Identifier: GPL-3.0-or-later
"""The management console's protocol against a guest's end made here."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from tests.lab import mconsole
from tests.lab.errors import LabError


@pytest.fixture
def guest(tmp_path):
    """guest(replies) answers one request with them, each (error, more, text), and returns what it was asked."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    connection.bind(str(tmp_path / "mconsole"))
    connection.settimeout(5)
    asked = []

    def serve(replies):
        request, address = connection.recvfrom(4096)
        asked.append(request)
        for error, more, text in replies:
            connection.sendto(struct.pack("=III", error, more, len(text)) + text.ljust(512, b"\0"), address)

    def start(*replies):
        threading.Thread(target=serve, args=(replies,), daemon=True).start()
        return asked

    yield start
    connection.close()


def test_request_has_magic_version_length_and_command(guest, tmp_path):
    asked = guest((0, 0, b"\0"))
    assert mconsole.ask(tmp_path / "mconsole", "cad") == ""
    assert struct.unpack("=III512s", asked[0]) == (0xCAFEBABE, 2, 3, b"cad".ljust(512, b"\0"))


def test_an_answer_in_parts_is_put_together(guest, tmp_path):
    guest((0, 1, b"Linux "), (0, 0, b"6.1\0"))
    assert mconsole.ask(tmp_path / "mconsole", "version") == "Linux 6.1"


def test_a_refusal_is_an_error_with_its_text(guest, tmp_path):
    guest((1, 0, b"Unknown command\0"))
    with pytest.raises(LabError, match="refused 'nonsense': Unknown command"):
        mconsole.ask(tmp_path / "mconsole", "nonsense")


def test_no_answer_is_an_error(guest, tmp_path):
    with pytest.raises(LabError, match="did not take 'cad'"):
        mconsole.ask(tmp_path / "mconsole", "cad", timeout_seconds=0.05)
    assert [path.name for path in tmp_path.iterdir()] == ["mconsole"]


def test_no_guest_is_an_error(tmp_path):
    with pytest.raises(LabError, match="did not take 'cad'"):
        mconsole.ask(tmp_path / "mconsole", "cad")
