# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the collection's own playbook `bake` against a tree: what a site does to make its image."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.checks.environment import tool_environment
from tests.lab.errors import LabError
from tests.lab.image.cache import digest_of, digest_of_tree
from tests.lab.image.chroot import run_for_tree
from tests.lab.image.release import Release

ROOT = Path(__file__).resolve().parents[3]
BAKE = ROOT / "playbooks" / "bake.yml"
COLLECTION_PARTS = ("galaxy.yml", "README.md", "COPYING", "meta", "plugins", "roles", "playbooks")
# Below the tree, for the time of the build.
WHEELHOUSE = "/var/tmp/wheelhouse"
POLICY = "usr/sbin/policy-rc.d"
# A configuration of its own: none of the user's or of the folder that the build happens to run in is read.
ANSIBLE_CFG = """\
[defaults]
localhost_warning = false
remote_tmp = /tmp/.ansible
callback_result_format = yaml
"""
# Collections that an image has besides this one; a site gets them from Galaxy.
NEEDED_COLLECTIONS = ("ansible/posix", "community/mysql")
PACKAGES_SECONDS = 1500
INSTALL_SECONDS = 600


def packages_digest() -> str:
    """Over what decides which packages are installed: each role's task file and the variables that it names."""
    parts: list[str | Path] = [Path(__file__), BAKE.read_text().split("tags: install")[0]]
    variables = _role_variables()
    for tasks in sorted(ROOT.glob("roles/*/tasks/packages.yml")):
        text = tasks.read_text()
        parts += [str(tasks.relative_to(ROOT)), text]
        named = sorted(set(re.findall(r"\w+", text)) & variables.keys())
        parts += [json.dumps([name, variables[name]]) for name in named]
    return digest_of(parts)


def collection_digest() -> str:
    """Over every file of the collection that git does not ignore."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *COLLECTION_PARTS]
    try:
        listed = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=60, check=True).stdout
    except subprocess.CalledProcessError as error:
        raise LabError(f"git cannot list the files of {ROOT}: {error.stderr.decode().strip()}") from error
    files = [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]
    return digest_of([Path(__file__), digest_of_tree(ROOT, [path for path in files if path.is_file()])])


def bake_packages(tree: Path, release: Release, log: Path) -> None:
    """Installs the packages of every role and ansible-core. The wheels are fetched outside with the machine's pip."""
    wheelhouse = tree / WHEELHOUSE.lstrip("/")
    try:
        _download_wheels(wheelhouse, release, log)
        extra = {"common_pip_extra_args": f"--no-index --find-links={WHEELHOUSE}"}
        _play(tree, ["packages"], extra, PACKAGES_SECONDS, log)
    finally:
        shutil.rmtree(wheelhouse, ignore_errors=True)


def bake_install_and_seal(tree: Path, log: Path) -> None:
    """Installs this checkout's collection and its units, then seals the tree."""
    _lend_collections(tree)
    _play(tree, ["install", "seal"], {"common_galaxy_extra_args": ["--offline"]}, INSTALL_SECONDS, log)


def _role_variables() -> dict[str, object]:
    variables: dict[str, object] = {}
    for path in sorted(ROOT.glob("roles/*/defaults/*.yml")) + sorted(ROOT.glob("roles/*/vars/**/*.yml")):
        variables.update(yaml.safe_load(path.read_text()) or {})
    return variables


def _download_wheels(wheelhouse: Path, release: Release, log: Path) -> None:
    wheelhouse.mkdir(parents=True, exist_ok=True)
    wanted = f"ansible-core{_role_variables()['common_ansible_core_version']}"
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(wheelhouse)]
    argv += ["--only-binary=:all:", f"--python-version={release.python_version}", wanted]
    done = subprocess.run(argv, text=True, capture_output=True, timeout=600, check=False)
    with open(log, "a") as output:
        output.write(done.stdout + done.stderr)
    if done.returncode != 0:
        raise LabError(f"pip could not download {wanted} for the image: {done.stderr.strip()}")


def _lend_collections(tree: Path) -> None:
    """The image cannot reach Galaxy here: the needed collections come from where the controller has them."""
    variables = _role_variables()
    target = tree / str(variables["common_collections_path"]).lstrip("/") / "ansible_collections"
    roots = tool_environment()["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)
    for name in NEEDED_COLLECTIONS:
        for root in roots:
            source = Path(root) / "ansible_collections" / name
            if source.is_dir():
                shutil.copytree(source, target / name, dirs_exist_ok=True)
                break
        else:
            title = name.replace("/", ".")
            raise LabError(f"the collection {title} is in none of {', '.join(roots)}: run `make setup`")


def _play(tree: Path, tags: list[str], extra: dict[str, object], timeout_seconds: float, log: Path) -> None:
    inventory = {
        "all": {
            "hosts": {
                "image": {
                    "ansible_connection": "community.general.chroot",
                    "ansible_host": str(tree),
                    "ansible_python_interpreter": "/usr/bin/python3",
                }
            }
        }
    }
    inventory_file = tree.with_name("inventory.json")
    inventory_file.write_text(json.dumps(inventory))
    configuration = tree.with_name("ansible.cfg")
    configuration.write_text(ANSIBLE_CFG)
    argv = [sys.executable, "-m", "ansible", "playbook", "--inventory", str(inventory_file), "--tags", ",".join(tags)]
    argv += ["--extra-vars", json.dumps(extra), "onehpc.ondemand.bake"]
    environment = tool_environment()
    environment.update(ANSIBLE_CONFIG=str(configuration), DEBIAN_FRONTEND="noninteractive")
    with _no_daemons(tree):
        run_for_tree(tree, argv, timeout_seconds, log, environment)
    shutil.rmtree(tree / "tmp/.ansible", ignore_errors=True)


@contextlib.contextmanager
def _no_daemons(tree: Path) -> Iterator[None]:
    """Packages start nothing while they are installed."""
    policy = tree / POLICY
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink(missing_ok=True)
