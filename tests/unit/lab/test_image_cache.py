# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers are built once, for exactly what went into them."""

from __future__ import annotations

import fcntl
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


def layers(directory, count, age_seconds):
    """image-0 is the one used last, each next one a second earlier."""
    made = []
    for number in range(count):
        path = directory / f"image-{number}.ext4"
        path.write_text("")
        os.utime(path, (time.time() - age_seconds - number, time.time()))
        made.append(path)
    return made


def test_old_layers_are_removed_but_for_those_used_last(tmp_path):
    images = layers(tmp_path, 6, age_seconds=2 * 3600)
    for path in (tmp_path / "base-1.tar", tmp_path / "build.log"):
        path.write_text("")
        os.utime(path, (1, 1))
    (tmp_path / "building-x" / "tree").mkdir(parents=True)
    assert remove_unused(tmp_path) == images[4:]
    assert sorted(tmp_path.iterdir()) == sorted([*images[:4], tmp_path / "base-1.tar", tmp_path / "build.log"])


def test_each_release_keeps_its_own_layers(tmp_path):
    layers(tmp_path, 4, age_seconds=2 * 3600)
    other = tmp_path / "image-trixie-0.ext4"
    other.write_text("")
    os.utime(other, (1, 1))
    assert remove_unused(tmp_path) == []


def test_layers_used_within_the_hour_stay(tmp_path):
    layers(tmp_path, 6, age_seconds=60)
    assert remove_unused(tmp_path) == []


def test_an_image_that_a_guest_holds_stays(tmp_path):
    images = layers(tmp_path, 6, age_seconds=2 * 3600)
    with open(images[5]) as held:
        fcntl.lockf(held, fcntl.LOCK_SH)
        assert remove_unused(tmp_path) == [images[4]]


def test_a_second_build_waits_for_the_first(tmp_path, monkeypatch):
    from tests.lab.errors import LabError
    from tests.lab.image import cache

    monkeypatch.setattr(cache, "BUILD_WAIT_SECONDS", 0)
    with building(tmp_path), pytest.raises(LabError, match="another build"), building(tmp_path):
        pass
    with building(tmp_path):
        pass
