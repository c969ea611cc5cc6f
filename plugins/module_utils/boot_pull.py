# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A fresh checkout of the collection, made by ansible-pull beside the last one and taken only when it is whole."""

from __future__ import annotations

import json
import os
import shutil

from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_source import (
    collection_root,
    lend_needed_collections,
    read_source,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.bounded_command import CommandTimeout, run_bounded
from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError
from ansible_collections.onehpc.ondemand.plugins.module_utils.git_url import git_environment, without_login

CAUSE_CHARACTERS = 200


class PullError(OnehpcError):
    """The repository could not be taken; the text says why and holds no login."""


def pull(url, version, settings):
    """Check the repository out and return its Source; PullError leaves the last checkout as it was.

    url, version: of the context, judged by their kinds; version: None is the repository's own default branch.
    """
    fresh = settings.pulled_path + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(os.path.dirname(collection_root(fresh)), mode=0o755)
    try:
        _check_out(url, version, collection_root(fresh), settings)
        read_source(fresh)
        lend_needed_collections(settings.baked_path, fresh)
        shutil.rmtree(settings.pulled_path, ignore_errors=True)
        os.rename(fresh, settings.pulled_path)
        return read_source(settings.pulled_path)
    except (OSError, ValueError) as error:
        raise PullError(str(error)) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _check_out(url, version, directory, settings):
    argv = [os.path.join(settings.programs_path, "ansible-pull"), "--full", "--url", without_login(url)]
    argv += ["--directory", directory, "--inventory", "localhost,"]
    argv += ["--checkout", version] if version else []
    argv.append(os.path.join(settings.config_path, "pull.yml"))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        **git_environment(url),
        "ANSIBLE_CONFIG": os.path.join(settings.config_path, "pull.cfg"),
    }
    try:
        result = run_bounded(argv, environment, settings.pull_seconds)
    except CommandTimeout:
        raise PullError(f"ansible-pull did not end within {settings.pull_seconds:g} s") from None
    except OSError as error:
        raise PullError(f"ansible-pull cannot be run: {error.strerror}") from None
    if result.return_code != 0:
        raise PullError(_cause(result.stdout + result.stderr))


def _cause(output):
    """What git said, as Ansible shows it, in one line; else the last thing that was said at all."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    messages = [line.partition(": ")[2].rstrip(",") for line in lines if line.startswith('"msg": ')]
    try:
        said = json.loads(messages[-1])
    except (IndexError, ValueError):
        said = lines[-1] if lines else "ansible-pull failed without a word"
    return " ".join(said.split())[:CAUSE_CHARACTERS].rstrip(".")
