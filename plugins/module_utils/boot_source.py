# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one source of code that a boot uses: a collections path that holds the whole collection and what it needs."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

NAMESPACE, NAME = "onehpc", "ondemand"
COMMIT_FILE = "onehpc-ondemand.commit"
UNKNOWN = "unknown"

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?(-dirty)?")


@dataclass(frozen=True)
class Source:
    """path: collections path; version: of the collection; commit: "unknown" where nothing tells."""

    path: str
    version: str
    commit: str


def read_source(path):
    """The Source at a collections path; ValueError with a clause when it does not hold the collection."""
    root = collection_root(path)
    identity = _manifest(root) or _galaxy_file(root)
    if identity is None:
        raise ValueError("it holds no collection: neither MANIFEST.json nor galaxy.yml is at its top")
    namespace, name, version = identity
    if (namespace, name) != (NAMESPACE, NAME):
        raise ValueError(f"it holds the collection {namespace}.{name}, expected {NAMESPACE}.{NAME}")
    return Source(path, version, _commit(path, root))


def collection_root(path):
    """The collection's own folder below a collections path."""
    return os.path.join(path, "ansible_collections", NAMESPACE, NAME)


def lend_needed_collections(baked_path, path):
    """Link what our collection needs from the image into another collections path; of ours nothing comes along."""
    baked, lent = (os.path.join(root, "ansible_collections") for root in (baked_path, path))
    for namespace in sorted(os.listdir(baked)):
        if namespace != NAMESPACE and os.path.isdir(os.path.join(baked, namespace)):
            os.symlink(os.path.join(baked, namespace), os.path.join(lent, namespace))


def use_source(link, path):
    """Let the symbolic link `link` lead to a collections path; at every moment it leads to the old one or the new."""
    os.makedirs(os.path.dirname(link), mode=0o755, exist_ok=True)
    temporary = f"{link}.new"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    os.symlink(path, temporary)
    os.replace(temporary, link)


def _manifest(root):
    text = _read(os.path.join(root, "MANIFEST.json"))
    if text is None:
        return None
    try:
        info = json.loads(text)["collection_info"]
        return info["namespace"], info["name"], info["version"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("its MANIFEST.json is not that of a collection") from None


def _galaxy_file(root):
    """Read without a YAML parser: three plain lines are all that is wanted of the file."""
    text = _read(os.path.join(root, "galaxy.yml"))
    if text is None:
        return None
    found = {key: _plain_value(text, key) for key in ("namespace", "name", "version")}
    if not all(found.values()):
        raise ValueError("its galaxy.yml names no namespace, name or version")
    return found["namespace"], found["name"], found["version"]


def _plain_value(text, key):
    line = re.search(rf"^{key}: *[\"']?([A-Za-z0-9_.+-]+)[\"']? *(?:#.*)?$", text, re.MULTILINE)
    return line and line.group(1)


def _commit(path, root):
    """Of a checkout from its .git, of the image from the file that the bake has left."""
    head = _read(os.path.join(root, ".git", "HEAD"))
    if head and head.startswith("ref: "):
        head = _read(os.path.join(root, ".git", *head[5:].strip().split("/")))
    head = (head or _read(os.path.join(path, COMMIT_FILE)) or "").strip()
    return head if _COMMIT.fullmatch(head) else UNKNOWN


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None
