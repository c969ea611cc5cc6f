# SPDX-License-Identifier: GPL-3.0-or-later
"""A file is written whole, with its owner and mode, or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils import atomic_file
from ansible_collections.onehpc.ondemand.plugins.module_utils.owned_file import (
    OwnedFileError,
    group_number,
    install,
    mode_number,
    user_number,
)

UID, GID = os.getuid(), os.getgid()


def test_content_owner_and_mode(tmp_path):
    path = tmp_path / "key"
    assert install(str(path), b"\x00key", UID, GID, 0o400, False) == ("content", "owner", "group", "mode")
    assert path.read_bytes() == b"\x00key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert install(str(path), b"\x00key", UID, GID, 0o400, False) == ()
    path.chmod(0o644)
    assert install(str(path), b"\x00key", UID, GID, 0o400, False) == ("mode",)
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert os.listdir(tmp_path) == ["key"]


def test_check_mode_writes_nothing(tmp_path):
    path = tmp_path / "key"
    assert install(str(path), b"key", UID, GID, 0o400, True)
    assert not path.exists()


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "key"
    path.write_bytes(b"old")

    def no_space(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_file.os, "fsync", no_space)
    with pytest.raises(OwnedFileError, match=f"{path} cannot be written: No space left on device"):
        install(str(path), b"new", UID, GID, 0o400, False)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["key"]


@pytest.mark.parametrize("check_mode", [True, False])
def test_missing_directory_is_a_sentence(tmp_path, check_mode):
    with pytest.raises(OwnedFileError, match="absent/key cannot be written: No such file or directory"):
        install(str(tmp_path / "absent" / "key"), b"key", UID, GID, 0o400, check_mode)


@pytest.mark.parametrize(("mode", "number"), [("0400", 0o400), ("640", 0o640), ("400", 0o400)])
def test_mode_numbers(mode, number):
    assert mode_number(mode) == number


@pytest.mark.parametrize("mode", ["u=rw", "", "0999", "-1", "None", "20000", "1.5"])
def test_what_is_no_mode(mode):
    with pytest.raises(OwnedFileError, match="is not a mode"):
        mode_number(mode)


def test_owners():
    assert (user_number("root"), user_number("0"), group_number("root"), group_number("12")) == (0, 0, 0, 12)
    with pytest.raises(OwnedFileError, match="There is no user nobody-here"):
        user_number("nobody-here")
    with pytest.raises(OwnedFileError, match="There is no group nobody-here"):
        group_number("nobody-here")
