# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Things done once per power-on, remembered with the id that the kernel gives each boot."""

from __future__ import annotations

import os

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically

BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"


def is_marked(path, boot_id_file=BOOT_ID_FILE):
    """True when the marker at `path` was set since the last power-on."""
    try:
        return _read(path) == _read(boot_id_file)
    except FileNotFoundError:
        return False


def mark(path, boot_id_file=BOOT_ID_FILE):
    """Set the marker at `path`; its folder is made when it is missing."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    write_atomically(path, _read(boot_id_file).encode("ascii"), mode=0o644)


def _read(path):
    with open(path, encoding="ascii") as marker:
        return marker.read()
