# SPDX-License-Identifier: GPL-3.0-or-later
"""A git server inside the lab's network: a repository of this collection that a test may change."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from tests.checks.environment import ROOT
from tests.lab.image.bake import COLLECTION_PARTS
from tests.lab.lab import Lab

PORT = 9418
START_SECONDS = 10


class GitServer:
    """Serves git://GATEWAY/ondemand. `end` is harmless when it has ended."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.repository = folder / "ondemand"
        self.url = f"git://{lab.management_gateway}/ondemand"
        self.repository.mkdir(parents=True)
        self._git("init", "--quiet", "--initial-branch", "main")
        for part in COLLECTION_PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, self.repository / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, self.repository / part)
        command = ["ip", "netns", "exec", lab.namespace, "git", "daemon", "--export-all", f"--base-path={folder}"]
        command += [f"--listen={lab.management_gateway}", f"--port={PORT}"]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait(lab)

    def change(self, path: str, old: str, new: str) -> None:
        """Replace a text of a file of the repository."""
        file = self.repository / path
        text = file.read_text()
        assert old in text, f"{path} holds no {old!r}"
        file.write_text(text.replace(old, new))

    def commit(self, message: str) -> str:
        """Commit everything; returns the commit's id."""
        self._git("add", "--all")
        self._git("-c", "user.name=A Site", "-c", "user.email=site@example.org", "commit", "--quiet", "-m", message)
        return self._git("rev-parse", "HEAD")

    def end(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(10)

    def _git(self, *arguments: str) -> str:
        argv = ["git", "-C", str(self.repository), *arguments]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout.strip()

    def _wait(self, lab: Lab) -> None:
        end = time.monotonic() + START_SECONDS
        argv = ["ip", "netns", "exec", lab.namespace, "git", "ls-remote", self.url]
        while subprocess.run(argv, capture_output=True, timeout=START_SECONDS, check=False).returncode != 0:
            assert time.monotonic() < end, f"{self.url} does not answer"
            time.sleep(0.1)
