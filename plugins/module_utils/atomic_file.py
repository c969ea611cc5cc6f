# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A file that is either the old one or the whole new one, whenever power goes."""

from __future__ import annotations

import os
import tempfile


def write_atomically(path, content, mode=0o600, uid=-1, gid=-1):
    """Replace the file at `path` by `content` (bytes), with its mode and owner set before it appears.

    mode: permission bits; uid, gid: numbers, -1 leaves the writer's own. OSError when it cannot be written;
    then the old file stands.
    """
    directory = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchown(descriptor, uid, gid)
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_directory(directory)


def _sync_directory(directory):
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
