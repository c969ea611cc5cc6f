# SPDX-License-Identifier: GPL-3.0-or-later
"""The context disk as the lab writes it and as the guest reads it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.context_disk import make_context_disk, render_context
from tests.lab.errors import LabError
from tests.unit.lab.guest_programs import load_guest_program

contextd = load_guest_program("usr/sbin/one-contextd")

names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)
hostile = st.sampled_from(["'", "''", "it's", "A='b'", "x\nB='y'\n", "\\'", "'\\''", "$(reboot)", '"', ""])


@given(st.dictionaries(names, st.one_of(texts, hostile), max_size=8))
def test_guest_reads_what_the_lab_wrote(values):
    assert contextd.parse_context(render_context(values)) == values


def test_a_shell_reads_the_same(tmp_path):
    value = 'it\'s "two"\nlines of $HOME'
    (tmp_path / "context.sh").write_text(render_context({"NOTE": value}))
    shown = subprocess.run(
        ["sh", "-c", '. ./context.sh; printf %s "$NOTE"'], cwd=tmp_path, text=True, capture_output=True, check=True
    )
    assert shown.stdout == value


@pytest.mark.parametrize("name", ["eth0_ip", "A B", "A=B", "", "1A", "A\n"])
def test_a_name_that_opennebula_would_not_write_is_refused(name):
    with pytest.raises(LabError, match="not a name"):
        render_context({name: "x"})


def read_from_disk(image, name):
    shown = subprocess.run(["debugfs", "-R", f"cat /{name}", str(image)], text=True, capture_output=True, check=True)
    return shown.stdout


def test_disk_holds_context_and_token_under_the_label(tmp_path):
    disk = tmp_path / "context.img"
    make_context_disk(disk, {"VMID": "3"}, "dG9rZW4=")
    label = subprocess.run(["e2label", str(disk)], text=True, capture_output=True, check=True).stdout
    assert label == "CONTEXT\n"
    assert read_from_disk(disk, "context.sh") == "VMID='3'\n"
    assert read_from_disk(disk, "token.txt") == "dG9rZW4=\n"
    assert [path.name for path in tmp_path.iterdir()] == ["context.img"]
    assert disk.stat().st_mode & 0o777 == 0o600


def test_disk_without_token_has_no_token_file_and_replaces_the_old_disk(tmp_path):
    disk = tmp_path / "context.img"
    make_context_disk(disk, {"VMID": "3"}, "dG9rZW4=")
    make_context_disk(disk, {"VMID": "4"}, None)
    assert read_from_disk(disk, "token.txt") == ""
    assert read_from_disk(disk, "context.sh") == "VMID='4'\n"
