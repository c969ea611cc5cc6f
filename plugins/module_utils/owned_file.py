# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A file with exactly this content, owner and mode."""

from __future__ import annotations

import grp
import os
import pwd
import stat

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError


class OwnedFileError(OnehpcError):
    """The file cannot be read or written, or its owner does not exist."""


def user_number(owner):
    """The uid of a user name or number (str); OwnedFileError when there is none."""
    try:
        return int(owner) if owner.isdigit() else pwd.getpwnam(owner).pw_uid
    except KeyError:
        raise OwnedFileError(f"There is no user {owner} on this host.") from None


def group_number(group):
    """The gid of a group name or number (str); OwnedFileError when there is none."""
    try:
        return int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise OwnedFileError(f"There is no group {group} on this host.") from None


def mode_number(mode):
    """Permission bits (int) of octal text such as 0400; OwnedFileError for anything else."""
    try:
        number = int(mode, 8)
        if 0 <= number <= 0o7777:
            return number
    except ValueError:
        pass
    raise OwnedFileError(f"{mode!r} is not a mode: give it in octal, e.g. 0400.")


def install(path, content, owner, group, mode, check_mode):
    """Make the file at `path` hold `content` (bytes) with owner, group and mode (numbers).

    Returns which of "content", "owner", "group", "mode" differed (tuple, empty when nothing did); in check mode
    nothing is written.
    """
    wanted = {"content": content, "owner": owner, "group": group, "mode": mode}
    try:
        present = _present(path)
        differing = tuple(what for what, value in wanted.items() if present.get(what) != value)
        if differing and not check_mode:
            write_atomically(path, content, mode, owner, group)
    except OSError as error:
        raise OwnedFileError(f"{path} cannot be written: {error.strerror}.") from None
    return differing


def _present(path):
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read()
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise
        return {}
    return {
        "content": content,
        "owner": status.st_uid,
        "group": status.st_gid,
        "mode": stat.S_IMODE(status.st_mode),
    }
