# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the builder's apt settings are lent, and that they are taken back."""

from __future__ import annotations

from tests.lab.image.machine_settings import MachineSettings, fetch_settings, public_sources, suite_sources

DEB822 = """\
# Debian
Types: deb deb-src
URIs: http://mirror.example/debian
# a comment between fields
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: http://other.example/node
Suites: nodistro
Components: main

Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm
Components: main

Types: deb
Enabled: no
URIs: http://disabled.example/debian
Suites: bookworm
Components: main
"""

ONE_LINE = """\
# deb http://off.example/debian bookworm main
deb http://mirror.example/debian bookworm main contrib # nearby
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] http://mirror.example/debian-security bookworm-security main
deb-src http://mirror.example/debian bookworm main
deb http://tool.example/apt bookworm stable
deb http://mirror.example/debian trixie main
"""


def test_deb822_sources_of_the_suite():
    assert suite_sources(DEB822, "bookworm") == [
        "deb http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian bookworm-updates main",
        "deb http://mirror.example/debian-security bookworm-security main",
    ]


def test_one_line_sources_of_the_suite():
    assert suite_sources(ONE_LINE, "bookworm") == [
        "deb http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian-security bookworm-security main",
    ]


def test_another_suite_has_none():
    assert suite_sources(DEB822 + "\n" + ONE_LINE, "forky") == []


def test_only_what_concerns_fetching_is_lent():
    dumped = """\
APT::Architecture "amd64";
Acquire::http::Proxy "http://proxy.example:3142";
Acquire::https::Proxy "";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::Packages::ShortDescription "Packages";
DPkg::Post-Invoke:: "rm -f /var/cache/apt/*.bin";
"""
    assert fetch_settings(dumped) == (
        'Acquire::http::Proxy "http://proxy.example:3142";\nAcquire::Check-Valid-Until "false";\n'
    )


def test_what_was_lent_is_taken_back(tmp_path):
    (tmp_path / "etc/apt/apt.conf.d").mkdir(parents=True)
    (tmp_path / "etc/resolv.conf").symlink_to("../run/systemd/resolve/stub-resolv.conf")
    settings = MachineSettings(
        ("deb http://mirror.example/debian bookworm main",),
        'Acquire::http::Proxy "http://proxy.example:3142";\n',
        "nameserver 192.0.2.1\n",
    )
    settings.lend(tmp_path)
    lent = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert "mirror.example" in lent[tmp_path / "etc/apt/sources.list"]
    assert lent[tmp_path / "etc/resolv.conf"] == "nameserver 192.0.2.1\n"
    assert any("proxy.example" in text for text in lent.values())
    settings.take_back(tmp_path, "bookworm")
    left = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {
        "etc/apt/sources.list": "".join(f"{line}\n" for line in public_sources("bookworm")),
        "etc/resolv.conf": "",
    }
