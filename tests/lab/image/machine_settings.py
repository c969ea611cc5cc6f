# SPDX-License-Identifier: GPL-3.0-or-later
"""How the machine that builds reaches its Debian mirror: lent to the new system for the build, then taken back."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
SECURITY_MIRROR = "http://security.debian.org/debian-security"
SOURCES_FILE = "etc/apt/sources.list"
SETTINGS_FILE = "etc/apt/apt.conf.d/00lent-by-builder"
RESOLVER_FILE = "etc/resolv.conf"


@dataclass(frozen=True)
class MachineSettings:
    """Lines for sources.list, apt settings of fetching, and the resolver's configuration."""

    sources: tuple[str, ...]
    apt_settings: str
    resolver: str

    def lend(self, tree: Path) -> None:
        (tree / SOURCES_FILE).write_text("".join(f"{line}\n" for line in self.sources))
        (tree / SETTINGS_FILE).write_text(self.apt_settings)
        _write_text(tree / RESOLVER_FILE, self.resolver)

    def take_back(self, tree: Path, suite: str) -> None:
        """Leaves Debian's own public mirrors, no apt setting and an empty resolver file."""
        (tree / SOURCES_FILE).write_text("".join(f"{line}\n" for line in public_sources(suite)))
        (tree / SETTINGS_FILE).unlink(missing_ok=True)
        _write_text(tree / RESOLVER_FILE, "")


def public_sources(suite: str) -> tuple[str, ...]:
    return (
        f"deb {MIRROR} {suite} main",
        f"deb {MIRROR} {suite}-updates main",
        f"deb {SECURITY_MIRROR} {suite}-security main",
    )


def read_machine_settings(suite: str) -> MachineSettings:
    """Settings of this machine. One that does not use this suite itself lends the public mirrors."""
    texts = [
        path.read_text()
        for pattern in ("sources.list", "sources.list.d/*.list", "sources.list.d/*.sources")
        for path in sorted(Path("/etc/apt").glob(pattern))
    ]
    sources = tuple(dict.fromkeys(line for text in texts for line in suite_sources(text, suite)))
    dumped = subprocess.run(["apt-config", "dump"], text=True, capture_output=True, timeout=30, check=True).stdout
    return MachineSettings(
        sources=sources or public_sources(suite),
        apt_settings=fetch_settings(dumped),
        resolver=Path("/etc/resolv.conf").read_text(),
    )


def suite_sources(text: str, suite: str) -> list[str]:
    """One-line sources of Debian's main component for this suite, its updates and its security updates.

    text: a sources file in either of apt's two formats. Repositories of others stay out.
    """
    wanted = {suite, f"{suite}-updates", f"{suite}-security"}
    found = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$", line.strip())
        if match and match[2] in wanted and "main" in match[3].split():
            found.append(f"deb {match[1]} {match[2]} main")
    for stanza in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
        fields = {}
        for name, value in re.findall(r"(?m)^([A-Za-z-]+):(.*(?:\n[ \t].*)*)", stanza):
            fields[name.lower()] = value.split()
        if "deb" not in fields.get("types", []) or "main" not in fields.get("components", []):
            continue
        if fields.get("enabled", ["yes"])[0] == "no":
            continue
        found += [
            f"deb {uri} {name} main" for uri in fields.get("uris", []) for name in fields["suites"] if name in wanted
        ]
    return found


def fetch_settings(dumped: str) -> str:
    """Out of `apt-config dump` what tells apt how to fetch (proxy, certificates, dates): no hooks, no index targets."""
    lines = [
        line
        for line in dumped.splitlines()
        if re.match(r"Acquire::(http|https|ftp|Retries|Check-|ForceIPv4|ForceIPv6)", line) and not line.endswith('"";')
    ]
    return "".join(f"{line}\n" for line in lines)


def _write_text(path: Path, text: str) -> None:
    # In the new system the file may be a link to a place that exists only while the system runs.
    path.unlink(missing_ok=True)
    path.write_text(text)
