# SPDX-License-Identifier: GPL-3.0-or-later
"""An exportfs program for PATH that keeps its list in a file, as nfs-utils does, and its calls in another."""

from __future__ import annotations

import os
import sys

PROGRAM = """\
#!{python}
import pathlib, re, sys
folder = pathlib.Path(__file__).parent
etab, exports, failure = folder / "etab", folder / "exports.d", folder / "failure"
with open(folder / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if failure.exists():
    sys.exit("exportfs: " + failure.read_text())
lines = etab.read_text().splitlines() if etab.exists() else []
if sys.argv[1] == "-u":
    client, _, path = sys.argv[2].partition(":")
    kept = [line for line in lines if not line.startswith(path + "\\t" + client + "(")]
    if kept == lines:
        sys.exit("exportfs: Could not find '%s' to unexport." % sys.argv[2])
    lines = kept
elif sys.argv[1] == "-ra":
    lines = []
    for file in sorted(exports.glob("*.exports")):
        for line in file.read_text().splitlines():
            if line and not line.startswith("#"):
                lines.append(line.replace(" ", "\\t", 1).replace("(rw,", "(rw,wdelay,"))
else:
    sys.exit("usage")
etab.write_text("".join(line + "\\n" for line in lines))
"""


class NfsServerDouble:
    """Lives in a folder: exportfs, etab (what is exported), exports.d/ and calls."""

    def __init__(self, folder):
        self.folder = folder
        self.exports_file = folder / "exports.d" / "onehpc-state.exports"
        self.exports_file.parent.mkdir()
        self.etab = folder / "etab"
        program = folder / "exportfs"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)

    @property
    def environment(self):
        return {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}"}

    @property
    def options(self):
        return {"exports_file": str(self.exports_file), "etab": str(self.etab)}

    def exported(self, path="/export/slurm"):
        lines = self.etab.read_text().splitlines() if self.etab.exists() else []
        return [line.split("\t")[1].split("(")[0] for line in lines if line.startswith(path + "\t")]

    def calls(self):
        """The calls since the last time."""
        file = self.folder / "calls"
        calls = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return calls

    def fail(self, message):
        (self.folder / "failure").write_text(message)
