# SPDX-License-Identifier: GPL-3.0-or-later
"""Each file of the repository names its licence."""

from __future__ import annotations

from tests.checks.environment import ROOT
from tests.checks.licence import lacks_licence_line
from tests.checks.repository import files, text


def test_each_file_names_its_licence():
    contents = {path: text(ROOT / path) for path in files(ROOT)}
    lacking = [str(path) for path, content in contents.items() if content and lacks_licence_line(path, content)]
    assert not lacking, "\n".join(lacking)
