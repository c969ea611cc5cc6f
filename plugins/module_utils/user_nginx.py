# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The web servers that Open OnDemand runs for its users, one nginx for each ("PUN")."""

from __future__ import annotations

import re
from pathlib import Path

# nginx_stage starts each with "(USER)" in place of its program's name, which nginx repeats in its title.
_MASTER = re.compile(rb"nginx: master process \(([^)]+)\)")


def count_user_nginx(proc: Path = Path("/proc")) -> int:
    """How many users have one; 0 where Open OnDemand does not run."""
    return len({user for user in map(_user_of, proc.glob("[0-9]*/cmdline")) if user})


def _user_of(cmdline: Path) -> bytes | None:
    try:
        match = _MASTER.match(cmdline.read_bytes())
    except OSError:
        return None  # it has ended
    return match.group(1) if match else None
