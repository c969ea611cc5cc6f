# SPDX-License-Identifier: GPL-3.0-or-later
"""The context disk of a host, as OpenNebula makes it: label CONTEXT, context.sh and token.txt."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.lab.command import run_checked
from tests.lab.errors import LabError

SIZE = "1024k"


def render_context(values: Mapping[str, str]) -> str:
    r"""context.sh with one `NAME='value'` for each variable. A quote in a value is written as '\''."""
    lines = []
    for name, value in values.items():
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            raise LabError(f"the context variable {name!r} is not a name that OpenNebula would write")
        lines.append("{}='{}'\n".format(name, value.replace("'", "'\\''")))
    return "".join(lines)


def make_context_disk(path: Path, values: Mapping[str, str], token: str | None) -> None:
    """Writes the disk image to path. Without a token there is no token.txt, as for a template without TOKEN=YES."""
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        content = Path(directory)
        (content / "context.sh").write_text(render_context(values), newline="")
        if token is not None:
            (content / "token.txt").write_text(token + "\n")
        path.unlink(missing_ok=True)
        run_checked(["mke2fs", "-q", "-t", "ext2", "-L", "CONTEXT", "-d", str(content), str(path), SIZE])
        path.chmod(0o600)
