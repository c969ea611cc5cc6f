# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers are built once, for exactly what went into them."""

from __future__ import annotations

import os
import time

import pytest

from tests.lab.image.cache import building, cached, digest_of, digest_of_tree, remove_unused


def test_digest_tells_parts_apart():
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
    assert digest_of(["ab", "c"]) == digest_of(["ab", b"c"])


def test_digest_of_a_tree_sees_content_name_mode_and_link(tmp_path):
    file = tmp_path / "one"
    file.write_text("x")
    seen = [digest_of_tree(tmp_path, [file])]
    file.chmod(0o755)
    seen.append(digest_of_tree(tmp_path, [file]))
    file.write_text("y")
    seen.append(digest_of_tree(tmp_path, [file]))
    moved = file.rename(tmp_path / "two")
    seen.append(digest_of_tree(tmp_path, [moved]))
    link = tmp_path / "link"
    link.symlink_to("two")
    seen.append(digest_of_tree(tmp_path, [moved, link]))
    assert len(set(seen)) == len(seen)
    assert digest_of_tree(tmp_path, [link, moved]) == seen[-1]


def test_a_layer_is_built_once_and_its_modification_time_stays(tmp_path):
    builds = []

    def build(path):
        builds.append(path)
        path.write_text("content")

    layer = cached(tmp_path / "base-1.tar", build)
    os.utime(layer, (1, 1))
    assert cached(tmp_path / "base-1.tar", build) == layer
    assert layer.read_text() == "content"
    assert len(builds) == 1
    assert layer.stat().st_mtime == 1
    assert layer.stat().st_atime > 1


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def build(path):
        path.write_text("half")
        raise RuntimeError("no space")

    with pytest.raises(RuntimeError):
        cached(tmp_path / "base-1.tar", build)
    assert list(tmp_path.iterdir()) == []


def test_layers_unused_for_days_and_remains_are_removed(tmp_path):
    old, new, log = tmp_path / "image-1.ext4", tmp_path / "image-2.ext4", tmp_path / "build.log"
    for path in (old, new, log):
        path.write_text("")
    (tmp_path / "building-x" / "tree").mkdir(parents=True)
    os.utime(old, (time.time() - 4 * 24 * 3600, time.time()))
    os.utime(log, (1, 1))
    assert remove_unused(tmp_path) == [old]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build.log", "image-2.ext4"]


def test_a_second_build_waits_for_the_first(tmp_path, monkeypatch):
    from tests.lab.errors import LabError
    from tests.lab.image import cache

    monkeypatch.setattr(cache, "BUILD_WAIT_SECONDS", 0)
    with building(tmp_path), pytest.raises(LabError, match="another build"), building(tmp_path):
        pass
    with building(tmp_path):
        pass
