# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The address of a git repository, without what only git may see of it."""

from __future__ import annotations

import base64
from urllib.parse import unquote, urlsplit, urlunsplit


def without_login(url):
    """The URL (str) as it may be shown: without user and password, an ssh user apart."""
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.scheme == "ssh" and parts.username else ""
    return urlunsplit(parts._replace(netloc=user + parts.netloc.rpartition("@")[2]))


def git_environment(url):
    """Environment variables (dict) with which git may fetch the URL without a terminal.

    The login of an http(s) URL goes along as a header: in arguments every user of the host could read it.
    """
    environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=15"}
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and "@" in parts.netloc:
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        header = "Authorization: Basic " + base64.b64encode(login.encode()).decode("ascii")
        environment.update(
            GIT_CONFIG_COUNT="1",
            GIT_CONFIG_KEY_0=f"http.{parts.scheme}://{parts.netloc.rpartition('@')[2]}/.extraHeader",
            GIT_CONFIG_VALUE_0=header,
        )
    return environment
