# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a context parameter may be. Each kind takes the text of the context and returns the value of the variable."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_scaling import SCALING_MODES

MAXIMUM_PREFIX_CHARACTERS = 13  # a node name has at most 20 characters, and a VM id up to 7 digits


@dataclass(frozen=True)
class Kind:
    """What a value must be.

    expected: as it stands in the sentence of a refusal; read: ValueError when it is not; shown: the value as that
    sentence may show it.
    """

    expected: str
    read: Callable[[str], object]
    shown: Callable[[str], str] = repr


ROLES = ("storage", "portal", "worker")


def _role(text):
    return _matching("|".join(ROLES), text)


def _scaling(text):
    return _matching("|".join(SCALING_MODES), text)


def _address(text):
    return str(ipaddress.IPv4Address(text))


def _address_range(text):
    first, last = (ipaddress.IPv4Address(part) for part in text.split("-"))
    if first > last:
        raise ValueError
    return f"{first}-{last}"


def _node_prefix(text):
    if len(text) > MAXIMUM_PREFIX_CHARACTERS or text.startswith("ph-"):
        raise ValueError
    return _matching(r"[a-z](?:[a-z0-9-]*[a-z-])?", text)


def _path(text):
    if "/../" in text + "/" or "/./" in text + "/":
        raise ValueError
    return _matching(r"(?:/[A-Za-z0-9._-]+)+", text)


def _shapes(text):
    shapes = [_matching(r"worker\w*:cpus=[1-9]\d*:mem=[1-9]\d*(?::gpus=\d+)?", shape) for shape in text.split(";")]
    roles = [shape.split(":")[0] for shape in shapes]
    if len(set(roles)) != len(roles):
        raise ValueError
    return ";".join(shapes)


def _git_url(text):
    login = r"(?:[A-Za-z0-9._~%+-]+(?::[A-Za-z0-9._~%+-]*)?@)?"
    host, path = r"(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?", r"(?:/[A-Za-z0-9._~@%+-]+)+/?"
    forms = (
        f"https?://{login}{host}{path}",
        f"git://{host}{path}",
        f"ssh://(?:[a-z_][a-z0-9_-]*@)?{host}{path}",
        f"file://{path}",
    )
    return _matching("|".join(forms), text)


def _git_url_shown(text):
    """What stands before an @ may be a login, wherever the URL went wrong."""
    return repr(re.sub(r"(?s)^([a-z+]*://)?.*@", r"\1...@", text))


def _git_version(text):
    if ".." in text or text.endswith((".lock", "/", ".")):
        raise ValueError
    return _matching(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,99}", text)


def _whole(least, most=None):
    def read(text):
        number = int(_matching(r"\d{1,9}", text))
        if number < least or (most is not None and number > most):
            raise ValueError
        return number

    return read


def _matching(pattern, text):
    if not re.fullmatch(pattern, text, re.ASCII):
        raise ValueError
    return text


ROLE = Kind("storage, portal or worker", _role)
SCALING = Kind(" or ".join(SCALING_MODES), _scaling)
ADDRESS = Kind("an IPv4 address", _address)
ADDRESS_RANGE = Kind("a range first-last of IPv4 addresses, the lower one first", _address_range)
NODE_PREFIX = Kind(
    f"at most {MAXIMUM_PREFIX_CHARACTERS} lower-case letters, digits and hyphens, beginning with a letter and not "
    'with "ph-", not ending in a digit',
    _node_prefix,
)
PATH = Kind("an absolute path of letters, digits, dots, underscores and hyphens, not ending in a slash", _path)
SHAPES = Kind("one ROLE:cpus=N:mem=MIB[:gpus=N] for each worker role, separated by ;", _shapes)
GIT_URL = Kind(
    "the URL of a git repository: http, https, git, ssh or file, without blanks, quotes, question mark and fragment",
    _git_url,
    _git_url_shown,
)
GIT_VERSION = Kind("the name of a branch or tag, or a commit", _git_version)
SECONDS = Kind("a whole number of seconds", _whole(0))
POSITIVE = Kind("a whole number above 0", _whole(1))
MEBIBYTES = Kind("a whole number of MiB above 0", _whole(1))
PORT = Kind("a TCP port, 1 to 65535", _whole(1, 65535))
