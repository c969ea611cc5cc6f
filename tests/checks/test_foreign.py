# SPDX-License-Identifier: GPL-3.0-or-later
"""No file holds a path or host of the machine it was written on, or a secret."""

from __future__ import annotations

import os
from pathlib import Path

from tests.checks.environment import ROOT
from tests.checks.foreign import foreign_words, machine_folders, machine_hosts
from tests.checks.repository import files, text


def test_no_file_names_this_machine_or_holds_a_secret():
    folders, hosts = machine_folders(ROOT, Path.home(), os.environ["PATH"]), machine_hosts()
    contents = {str(path): text(ROOT / path) for path in files(ROOT)}
    found = {path: foreign_words(content, folders, hosts) for path, content in contents.items() if content}
    named = [f"{path}: {', '.join(words)}" for path, words in found.items() if words]
    assert not named, "\n".join(named)
