# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which source of code this boot uses, and the sentence that says so."""

from __future__ import annotations

import os

from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_marker import is_marked
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_pull import PullError, pull
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_source import read_source, use_source
from ansible_collections.onehpc.ondemand.plugins.module_utils.git_url import without_login
from ansible_collections.onehpc.ondemand.plugins.module_utils.parameters import parameter_value

URL = "ONEAPP_COLLECTION_URL"
VERSION = "ONEAPP_COLLECTION_VERSION"


def choose_source(context, settings):
    """Let the collections link lead to this boot's source and return the log's first line about it.

    Until the first boot has finished every attempt chooses anew; from then on the source stays until power-off.
    ValueError with a clause when not even the image holds a whole collection.
    """
    if is_marked(settings.finished_file) and os.path.isdir(settings.collections_link):
        return f"Code as since the last power-on: {_shown(read_source(os.path.realpath(settings.collections_link)))}."
    source, why = _choose(context, settings)
    use_source(settings.collections_link, source.path)
    return why


def _choose(context, settings):
    baked = read_source(settings.baked_path)
    try:
        url, version = parameter_value(context.values, URL), parameter_value(context.values, VERSION)
    except ValueError:
        return baked, f"Code of the image: {_shown(baked)}. {URL} or {VERSION} is wrong, so nothing is pulled."
    if url is None:
        return baked, f"Code of the image: {_shown(baked)}."
    try:
        pulled = pull(url, version, settings)
    except PullError as error:
        what = f"{without_login(url)} at {version or 'its default branch'}"
        return baked, f"Code of the image: {_shown(baked)}. {what} ({URL}) could not be used: {error}."
    return pulled, f"Code of {without_login(url)}: {_shown(pulled)}."


def _shown(source):
    return f"version {source.version}, commit {source.commit}"
