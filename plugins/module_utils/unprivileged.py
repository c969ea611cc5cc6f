# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Children that have no more rights than an account without any."""

from __future__ import annotations

import os
import pwd


def child_settings(user: str) -> dict:
    """Arguments of subprocess.Popen for a child of that user in a session of its own, with the root for its folder.

    A process that is not root's cannot choose: its children are its own user's.

    :raises OSError: there is no such user.
    """
    settings: dict = {"start_new_session": True, "cwd": "/"}
    if os.geteuid() != 0:
        return settings
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise OSError(0, f"there is no user {user}") from None
    return {**settings, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
