# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a session may ask for at most: the largest worker of each role, in a file for the forms of Open OnDemand."""

from __future__ import annotations

import json
from typing import Mapping

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Service
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_placeholders import wanted_shape
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_shapes import WorkerShape


def limits_text(service: Service, given: Mapping[str, WorkerShape], largest: Mapping[str, WorkerShape]) -> str:
    """The file's JSON: ``{"roles": {NAME: {"cores": N, "memory_mib": N, "gpus": N}}}``.

    given and largest: role to shape, as for the placeholders, so that a form offers what an empty pool accepts.
    """
    shapes = {role.name: wanted_shape(role.name, given, largest) for role in service.worker_roles()}
    roles = {
        name: {"cores": shape.cpus, "memory_mib": shape.memory_mib, "gpus": shape.gpus}
        for name, shape in shapes.items()
    }
    return json.dumps({"roles": roles}, indent=1, sort_keys=True) + "\n"


def keep_limits(path: str, text: str, check_mode: bool) -> str | None:
    """Make the file say so, readable by all. Returns what it has said before, "" without a file, None without a change.

    :raises PoolError: it cannot be read or written.
    """
    try:
        before = _read(path)
        if before == text:
            return None
        if not check_mode:
            write_atomically(path, text.encode(), mode=0o644)
    except OSError as error:
        raise PoolError(f"The limits of the forms in {path} cannot be kept: {error.strerror}.") from None
    return before


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""
