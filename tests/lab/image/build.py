# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the layers that are not cached and returns the finished image."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.lab.command import run_checked
from tests.lab.image import bake
from tests.lab.image.base import base_digest, build_base
from tests.lab.image.cache import building, cache_dir, cached, digest_of, remove_unused
from tests.lab.image.disk import make_disk
from tests.lab.image.guest_files import add_guest_files, guest_digest
from tests.lab.image.machine_settings import MachineSettings, read_machine_settings
from tests.lab.image.planted import plant
from tests.lab.image.release import BOOKWORM, Release
from tests.lab.image.sealed import check_sealed

TAR_OPTIONS = ("--numeric-owner", "--xattrs", "--xattrs-include=*")
BUILD_LEFTOVERS = ("var/lib/apt/lists", "var/cache/apt", "var/cache/debconf", "var/log/apt")
# Disk space is needed, so not /tmp, which may be memory.
TREES_PARENT = Path("/var/tmp")


Report = Callable[[str], None]


def build_image(report: Report = lambda line: None, release: Release = BOOKWORM) -> Path:
    """Path of the image for this checkout as it is. report gets a line for every step that takes time.

    LabError when a step fails: it names the log and shows its last lines.
    """
    suite = release.suite
    directory = cache_dir()
    with building(directory):
        for path in remove_unused(directory):
            report(f"image: removed {path.name} from the cache, not used lately")
        base_name = base_digest(release)
        packages_name = digest_of([base_name, bake.packages_digest()])
        image_name = digest_of([packages_name, guest_digest(), bake.collection_digest(), Path(__file__)])
        steps = _Steps(release, directory, directory / "build.log", report)

        def base(path: Path) -> None:
            steps.base(path)

        def packages(path: Path) -> None:
            steps.packages(cached(directory / f"base-{suite}-{base_name}.tar", base), path)

        def image(path: Path) -> None:
            steps.image(cached(directory / f"packages-{suite}-{packages_name}.tar", packages), path)

        return cached(directory / f"image-{suite}-{image_name}.ext4", image)


@contextlib.contextmanager
def base_tree(
    release: Release, extra_packages: Sequence[str] = (), report: Report = lambda line: None
) -> Iterator[Path]:
    """A plain Debian with these packages more, unpacked for the caller alone and removed at the end.

    For programs that this machine's own release is too old for: `run_in_tree` runs them. Its apt and its resolver are
    set as this machine's.
    """
    directory = cache_dir()
    with building(directory):
        steps = _Steps(release, directory, directory / "build.log", report)
        name = f"base-{release.suite}-{base_digest(release, extra_packages)}.tar"
        tar = cached(directory / name, lambda path: steps.base(path, extra_packages))
    with tempfile.TemporaryDirectory(dir=TREES_PARENT, prefix="onehpc-tree-") as work:
        tree = _unpack(tar, Path(work))
        read_machine_settings(release.suite).lend(tree)
        yield tree


class _Steps:
    def __init__(self, release: Release, directory: Path, log: Path, report: Report):
        self._release = release
        self._directory = directory
        self._log = log
        self._report = report
        self._log.write_text("")

    def _settings(self) -> MachineSettings:
        return read_machine_settings(self._release.suite)

    def base(self, tar: Path, extra_packages: Sequence[str] = ()) -> None:
        begin = self._begin(f"Debian {self._release.suite} base")
        build_base(tar, self._release, self._settings(), self._log, extra_packages)
        self._end(begin)

    def packages(self, base_tar: Path, tar: Path) -> None:
        begin = self._begin("packages of every role")
        with tempfile.TemporaryDirectory(dir=self._directory, prefix="building-") as work:
            tree = _unpack(base_tar, Path(work))
            settings = self._settings()
            settings.lend(tree)
            bake.bake_packages(tree, self._release, self._log)
            settings.take_back(tree, self._release.suite)
            for leftover in BUILD_LEFTOVERS:
                _empty(tree / leftover)
            run_checked(["tar", *TAR_OPTIONS, "-C", str(tree), "-cf", str(tar), "."], timeout_seconds=300)
        self._end(begin)

    def image(self, packages_tar: Path, image: Path) -> None:
        begin = self._begin("the lab's files and this collection")
        with tempfile.TemporaryDirectory(dir=self._directory, prefix="building-") as work:
            tree = _unpack(packages_tar, Path(work))
            add_guest_files(tree, self._log)
            plant(tree)
            bake.bake_install_and_seal(tree, self._log)
            make_disk(tree, image)
        check_sealed(image, self._release)
        self._end(begin)

    def _begin(self, what: str) -> float:
        self._report(f"image: building {what} ...")
        return time.monotonic()

    def _end(self, begin: float) -> None:
        self._report(f"image: done after {time.monotonic() - begin:.0f} s")


def _unpack(tar: Path, work: Path) -> Path:
    tree = work / "tree"
    tree.mkdir(mode=0o755)
    run_checked(["tar", *TAR_OPTIONS, "-C", str(tree), "-xpf", str(tar)], timeout_seconds=300)
    tree.chmod(0o755)
    return tree


def _empty(directory: Path) -> None:
    if directory.is_dir():
        for path in directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
