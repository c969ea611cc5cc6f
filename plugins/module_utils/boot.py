# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The first boot from power-on to READY: the order of its steps, and what it says when one of them fails."""

from __future__ import annotations

import json
import os
import time

from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_choice import choose_source
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_context import (
    UNKNOWN_ROLE,
    role_of,
    wait_for_context,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_marker import is_marked, mark
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_pause import automatic_restarts, pause_seconds
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_playbook import run_playbook
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_publish import publish_failure, withdraw
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import TIMEOUT_SECONDS, client_from_host

REPORT_SECONDS = 30
ADVICE = "See journalctl -u onehpc-first-boot."


class BootFailed(OnehpcError):
    """One attempt failed. attributes: what is to be published about it, ERROR among them."""

    def __init__(self, attributes):
        super().__init__(attributes["ERROR"])
        self.attributes = attributes


def boot(settings, say, sleep=time.sleep):
    """One attempt; returns the exit status. say: takes one line of the log."""
    _pause(settings, say, sleep)
    try:
        context = wait_for_context(settings.one_env, settings.context_seconds)
    except OnehpcError as error:
        say(f"{UNKNOWN_ROLE}: the context: {error}")
        return 1

    def make_client(seconds):
        return client_from_host(
            one_env=settings.one_env,
            endpoint_file=settings.endpoint_file,
            timeout_seconds=min(seconds, TIMEOUT_SECONDS),
            context=context,
        )

    role = role_of(context)
    try:
        _withdraw_once(make_client, settings)
    except OnehpcError as error:
        say(f"{role}: withdrawing READY: {error}")
        return 1
    try:
        _run(context, role, settings, say)
    except BootFailed as failure:
        say(str(failure))
        _publish(failure.attributes, make_client, say)
        return 1
    mark(settings.finished_file)
    return 0


def _publish(attributes, make_client, say):
    try:
        publish_failure(make_client, attributes, REPORT_SECONDS)
    except OnehpcError as error:
        say(f"ERROR could not be published: {error}")


def _pause(settings, say, sleep):
    restarts = automatic_restarts()
    seconds = pause_seconds(restarts, settings.retry_seconds, settings.longest_pause_seconds)
    if seconds:
        say(f"Attempt {restarts + 1} begins in {seconds:g} s.")
        sleep(seconds)


def _withdraw_once(make_client, settings):
    if not is_marked(settings.withdrawn_file):
        withdraw(make_client, settings.onegate_seconds)
        mark(settings.withdrawn_file)


def _run(context, role, settings, say):
    try:
        say(choose_source(context, settings))
    except (OSError, ValueError) as error:
        raise BootFailed(_untold(f"{role}: the collection of the image: {error}. Bake the image anew.")) from None
    _forget(settings.failure_file)
    ending = run_playbook(settings)
    if ending is not None:
        told = _told(settings.failure_file)
        raise BootFailed(told or _untold(f"{role}: the playbook of the first boot: {ending}. {ADVICE}"))


def _untold(sentence):
    """READY goes too where nobody can say how far the playbook came."""
    return {"ERROR": sentence, "READY": "NO"}


def _told(path):
    """The attributes that the playbook's own rescue has left, None when it did not come so far."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return None


def _forget(path):
    if os.path.exists(path):
        os.unlink(path)
