# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths and environment variables under which this checkout's tools run."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS_PATH = ROOT / ".cache" / "collections"
VENV_BIN = ROOT / ".venv" / "bin"


def tool_environment(base: dict[str, str] | None = None) -> dict[str, str]:
    """Environment for child processes: the venv's tools first, this checkout as `onehpc.ondemand`.

    Without `base` the present environment is extended. An ANSIBLE_COLLECTIONS_PATH that is already
    there wins, so that the tests can run against an installed collection.
    """
    environment = dict(os.environ if base is None else base)
    environment["PATH"] = os.pathsep.join([str(VENV_BIN), environment.get("PATH", os.defpath)])
    environment.setdefault("ANSIBLE_COLLECTIONS_PATH", str(COLLECTIONS_PATH))
    python_path = [environment["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)[0], str(ROOT)]
    python_path += [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(python_path))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment
