# SPDX-License-Identifier: GPL-3.0-or-later
"""How this machine's pip reaches its index, for a pip that would not see these settings by itself.

ansible-test gives its children none of pip's environment variables, and gets a home of its own here.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.checks.environment import ROOT, VENV_BIN
from tests.gates.command import output_of

# What tells pip how to fetch; nothing that tells it what to install.
FETCH_OPTIONS = (
    "cert", "client-cert", "extra-index-url", "find-links", "index-url", "proxy", "retries", "timeout", "trusted-host",
)  # fmt: skip


def machine_pip_settings() -> dict[str, str]:
    """Option -> value of what is set globally, for the user or in the environment."""
    return fetch_settings(output_of([str(VENV_BIN / "python"), "-m", "pip", "config", "list"], ROOT))


def fetch_settings(listed: str) -> dict[str, str]:
    """FETCH_OPTIONS out of `pip config list`; one of the environment wins over a file."""
    found = re.findall(r"(?m)^(?:global|install|:env:)\.([\w-]+)='(.*)'$", listed)
    return {name: value for name, value in found if name in FETCH_OPTIONS}


def lend(options: dict[str, str], home: Path, tree: Path | None = None) -> None:
    """Write them as the settings of the user with this home, and the certificates to a tree that has others."""
    file = home / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in options.items()))
    certificates = options.get("cert")
    if tree is not None and certificates:
        copy = tree / certificates.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(certificates, copy)
