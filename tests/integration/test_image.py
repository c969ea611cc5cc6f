# SPDX-License-Identifier: GPL-3.0-or-later
"""The finished image holds nothing of the one system it was made in."""

from __future__ import annotations

from tests.lab.image.sealed import list_dir, violations


def test_the_image_is_sealed(image, release):
    assert violations(image, release) == []


def test_the_image_was_really_looked_into(image):
    assert "ansible-playbook" in list_dir(image, "opt/onehpc/venv/bin")
