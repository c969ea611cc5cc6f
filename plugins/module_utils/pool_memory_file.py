# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A small JSON file that survives restarts and is never half written."""

from __future__ import annotations

import json
import os

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError


def read_memory_file(path: str) -> dict:
    """The object in the file; empty when there is no file or it cannot be understood.

    What is remembered only makes decisions better informed, so a damaged file is started anew instead of stopping
    the pool. :raises PoolError: the file is there but may not be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError:
        return {}
    except OSError as error:
        raise PoolError(f"{path}, where the pool remembers, cannot be read: {error.strerror}.") from None
    return data if isinstance(data, dict) else {}


def write_memory_file(path: str, data: dict) -> None:
    """Replace the file by this object. :raises PoolError: it cannot be written."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o755, exist_ok=True)
        write_atomically(path, (json.dumps(data, sort_keys=True) + "\n").encode("ascii"))
    except OSError as error:
        raise PoolError(f"{path}, where the pool remembers, cannot be written: {error.strerror}.") from None
