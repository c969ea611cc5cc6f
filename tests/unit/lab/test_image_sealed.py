# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a finished image finds what must not be in one."""

from __future__ import annotations

import pytest

from tests.lab.command import run_checked
from tests.lab.errors import LabError
from tests.lab.image.machine_settings import public_sources
from tests.lab.image.release import TRIXIE
from tests.lab.image.sealed import check_sealed, list_dir, read_file, violations

CLEAN = {
    "etc/machine-id": "",
    "etc/ssh/sshd_config": "UsePAM yes\n",
    "etc/apt/sources.list": "".join(f"{line}\n" for line in public_sources("bookworm")),
    "etc/apt/apt.conf.d/01autoremove": 'APT::NeverAutoRemove "x";\n',
    "etc/munge/readme": "",
}


@pytest.fixture
def make_image(tmp_path):
    def make(files):
        tree = tmp_path / "tree"
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        image = tmp_path / "image.ext4"
        run_checked(["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(image), "4M"])
        return image

    return make


def test_a_sealed_image_has_no_violation(make_image):
    image = make_image(CLEAN)
    check_sealed(image)
    assert violations(image) == []


def test_sources_of_another_release_are_foreign(make_image):
    image = make_image(CLEAN)
    assert len(violations(image, TRIXIE)) == 3


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("etc/munge/munge.key", "x", "/etc/munge/munge.key is in the image"),
        ("etc/ssh/ssh_host_rsa_key", "x", "/etc/ssh/ssh_host_rsa_key is in the image"),
        ("etc/machine-id", "119c8a2ae40644519176812f0a822935\n", "/etc/machine-id is not empty"),
        ("etc/pip.conf", "", "/etc/pip.conf is in the image"),
        ("root/.config/pip/pip.conf", "", "/root/.config/pip/pip.conf is in the image"),
        ("root/.ssh/authorized_keys", "", "/root/.ssh/authorized_keys is in the image"),
        ("root/.ssh/id_ed25519", "x", "/root/.ssh/id_ed25519 is in the image"),
        ("usr/sbin/policy-rc.d", "", "/usr/sbin/policy-rc.d is in the image"),
        ("etc/apt/apt.conf.d/proxy", 'Acquire::http::Proxy "http://p.example";', "the builder's way to its mirror"),
        ("etc/apt/sources.list.d/lent.list", "", "/etc/apt/sources.list.d/lent.list is in the image"),
        ("etc/apt/sources.list", "deb http://mirror.example/debian bookworm main\n", "the builder's source"),
    ],
)
def test_each_violation_is_named(make_image, file, text, complaint):
    image = make_image({**CLEAN, file: text})
    found = violations(image)
    assert len(found) == 1
    assert complaint in found[0]
    with pytest.raises(LabError, match="not sealed"):
        check_sealed(image)


def test_reading_an_image(make_image):
    image = make_image({"a/b": "text\n", "a/c": ""})
    assert list_dir(image, "a") == {"b": 5, "c": 0}
    assert list_dir(image, "nowhere") == {}
    assert read_file(image, "a/b") == "text\n"
    assert read_file(image, "a/d") is None
    assert read_file(image, "nowhere/d") is None
