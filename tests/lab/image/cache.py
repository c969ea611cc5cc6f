# SPDX-License-Identifier: GPL-3.0-or-later
"""Where built layers are kept, under which digest, and for how long."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.lab.errors import LabError

BUILD_WAIT_SECONDS = 1800
KEPT_FOR_SECONDS = 3600
KEPT_OF_EACH_KIND = 4


def cache_dir() -> Path:
    """Folder of the layers, made when it is not there."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "onehpc-ondemand"
    path.mkdir(parents=True, exist_ok=True)
    return path


def digest_of(parts: Iterable[str | bytes | Path]) -> str:
    """Sixteen hex digits over texts and files. A file counts with its content and whether it may be executed."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            content = b"%d" % os.access(part, os.X_OK) + part.read_bytes()
        else:
            content = part.encode() if isinstance(part, str) else part
        total.update(b"%d:" % len(content) + content)
    return total.hexdigest()[:16]


def digest_of_tree(root: Path, files: Iterable[Path]) -> str:
    """Digest over files and their names below root."""
    parts: list[str | bytes | Path] = []
    for path in sorted(files):
        parts.append(str(path.relative_to(root)))
        parts.append(f"link {path.readlink()}" if path.is_symlink() else path)
    return digest_of(parts)


@contextlib.contextmanager
def building(directory: Path) -> Iterator[None]:
    """One build at a time: others wait for it and then find its layers. LabError after half an hour."""
    end = time.monotonic() + BUILD_WAIT_SECONDS
    with open(directory / "build.lock", "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise LabError(f"another build has held {lock.name} for {BUILD_WAIT_SECONDS} s") from None
                time.sleep(0.5)
        yield


def cached(path: Path, build: Callable[[Path], None]) -> Path:
    """The file at path, built first when it is not there; an interrupted build leaves nothing under that name.

    Its access time is the time of its last use (the modification time stays: copy-on-write disks remember it).
    """
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as directory:
            unfinished = Path(directory) / path.name
            build(unfinished)
            unfinished.replace(path)
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
    return path


def remove_unused(directory: Path) -> list[Path]:
    """Removes old layers: all but the four of each kind and release that were used last. Returns them.

    One that was used within the last hour stays too, and an image that a running guest holds locked. What builds left
    that were ended half-way goes as well: this is only for the one that holds `building`.
    """
    for path in directory.glob("building-*"):
        shutil.rmtree(path)
    locked = set(re.findall(r":(\d+) \d+ \S+$", Path("/proc/locks").read_text(), re.MULTILINE))
    removed = []
    kinds: dict[str, list[Path]] = {}
    for pattern in ("base-*.tar", "packages-*.tar", "image-*.ext4"):
        for path in directory.glob(pattern):
            kinds.setdefault(path.name.rpartition("-")[0], []).append(path)
    for found in kinds.values():
        found.sort(key=lambda path: path.stat().st_atime, reverse=True)
        for path in found[KEPT_OF_EACH_KIND:]:
            status = path.stat()
            if time.time() - status.st_atime > KEPT_FOR_SECONDS and str(status.st_ino) not in locked:
                path.unlink()
                removed.append(path)
    return removed
