# SPDX-License-Identifier: GPL-3.0-or-later
"""Which source of code a boot uses: a real git repository, fetched by the real ansible-pull, or the image's copy."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.checks.environment import VENV_BIN
from tests.unit.boot.launcher import COMMIT

IMAGE = f"Code of the image: version 0.1.0, commit {COMMIT}."
LOGIN = "robot:s3cr%2Ft"
GALAXY = "namespace: onehpc\nname: {name}\nversion: {version}\n"


class Repository:
    """A git repository below a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments):
        identity = ("-c", "user.name=A Site", "-c", "user.email=site@example.org")
        argv = ["git", "-C", str(self.folder), *identity, *arguments]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout.strip()

    def commit(self, version, name="ondemand"):
        """Returns the commit's id."""
        (self.folder / "galaxy.yml").write_text(GALAXY.format(name=name, version=version))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", version)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


@pytest.fixture
def host(host):
    host.program("ansible-pull", f'exec {VENV_BIN}/ansible-pull "$@"')
    (host.root / "pull.yml").write_text("- hosts: all\n  gather_facts: false\n")
    (host.root / "pull.cfg").write_text("[defaults]\ninterpreter_python = /usr/bin/python3\n")
    return host


def collections_path(host):
    return os.path.realpath(host.runtime / "collections")


def test_image_is_the_source_without_a_url(host):
    assert host.boot().lines == [IMAGE]
    assert collections_path(host) == str(host.baked)
    assert not any("--url" in call for call in host.calls())


def test_default_branch_is_pulled_and_comes_alone(host, repository):
    commit = repository.commit("0.2.0")
    host.context(ONEAPP_COLLECTION_URL=repository.url)
    assert host.boot().lines == [f"Code of {repository.url}: version 0.2.0, commit {commit}."]
    path = host.runtime / "collections" / "ansible_collections"
    assert (path / "onehpc" / "ondemand" / "galaxy.yml").read_text() == GALAXY.format(name="ondemand", version="0.2.0")
    assert not (path / "onehpc" / "ondemand" / "MANIFEST.json").exists()
    assert os.path.realpath(path / "ansible") == str(host.baked / "ansible_collections" / "ansible")


@pytest.mark.parametrize("kind", ["tag", "commit"])
def test_version_may_be_a_tag_or_a_commit(host, repository, kind):
    old = repository.commit("0.2.0")
    repository.git("tag", "v0.2.0")
    repository.commit("0.3.0")
    version = {"tag": "v0.2.0", "commit": old}[kind]
    host.context(ONEAPP_COLLECTION_URL=repository.url, ONEAPP_COLLECTION_VERSION=version)
    assert host.boot().lines == [f"Code of {repository.url}: version 0.2.0, commit {old}."]


def test_next_power_on_takes_what_the_repository_has_by_then(host, repository):
    repository.commit("0.2.0")
    host.context(ONEAPP_COLLECTION_URL=repository.url)
    host.boot()
    commit = repository.commit("0.3.0")
    assert "as since the last power-on: version 0.2.0" in host.boot().lines[0]
    (host.runtime / "first_boot_finished").unlink()
    assert host.boot().lines == [f"Code of {repository.url}: version 0.3.0, commit {commit}."]


def fallback(host, because):
    attempt = host.boot()
    (line,) = attempt.lines
    assert attempt.status == 0
    assert line.startswith(IMAGE)
    assert because in line
    assert collections_path(host) == str(host.baked)


def test_image_is_the_source_when_the_repository_is_away(host, repository):
    repository.commit("0.2.0")
    host.context(ONEAPP_COLLECTION_URL=repository.url)
    repository.folder.rename(repository.folder.with_name("elsewhere"))
    fallback(host, f"{repository.url} at its default branch (ONEAPP_COLLECTION_URL) could not be used: fatal: ")


def test_image_is_the_source_when_there_is_no_such_version(host, repository):
    repository.commit("0.2.0")
    host.context(ONEAPP_COLLECTION_URL=repository.url, ONEAPP_COLLECTION_VERSION="v9")
    fallback(host, "could not be used: Failed to checkout v9.")


def test_image_is_the_source_when_the_repository_holds_something_else(host, repository):
    repository.commit("0.2.0", name="another")
    host.context(ONEAPP_COLLECTION_URL=repository.url)
    fallback(host, "it holds the collection onehpc.another, expected onehpc.ondemand")


def test_image_is_the_source_when_the_pull_does_not_end(host):
    host.program("ansible-pull", "sleep 1000")
    host.context(ONEAPP_COLLECTION_URL="https://git.example.org/ondemand.git")
    attempt = host.boot(pull_seconds=0.5)
    assert attempt.status == 0
    assert "ansible-pull did not end within 0.5 s" in attempt.lines[0]


def test_wrong_url_pulls_nothing_and_is_left_to_the_playbook_to_refuse(host):
    host.program("ansible-pull", "exit 1")
    host.context(ONEAPP_COLLECTION_URL="ext::sh -c id")
    fallback(host, "ONEAPP_COLLECTION_URL or ONEAPP_COLLECTION_VERSION is wrong, so nothing is pulled.")
    assert not any("--url" in call for call in host.calls())


def test_login_of_the_url_is_in_no_line_and_no_argument(host):
    host.program("ansible-pull", f'env > {host.root}/environment; echo "fatal: no" >&2; exit 1')
    host.context(ONEAPP_COLLECTION_URL=f"https://{LOGIN}@git.example.org/ondemand.git")
    attempt = host.boot()
    told = "\n".join([*attempt.lines, *attempt.errors, *host.calls()])
    assert "https://git.example.org/ondemand.git" in told
    assert "robot" not in told
    assert "s3cr" not in told
    environment = (host.root / "environment").read_text()
    assert "GIT_CONFIG_KEY_0=http.https://git.example.org/.extraHeader" in environment
    assert "GIT_CONFIG_VALUE_0=Authorization: Basic cm9ib3Q6czNjci90" in environment  # robot:s3cr/t


def test_image_without_the_whole_collection_is_a_failure(host, onegate):
    (host.baked / "ansible_collections/onehpc/ondemand/MANIFEST.json").unlink()
    attempt = host.boot()
    assert attempt.status == 1
    assert "worker: the collection of the image: it holds no collection" in attempt.lines[-1]
    assert onegate.user_template()["ERROR"].startswith("worker: the collection of the image: ")
