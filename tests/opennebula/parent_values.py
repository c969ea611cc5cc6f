# SPDX-License-Identifier: GPL-3.0-or-later
"""``${role.TEMPLATE.CONTEXT.ETH1_IP}`` in template_contents: values of parents' VMs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_REFERENCE = re.compile(r"\$\{(.*?)\}")


def find_value(document: Any, path: Sequence[str]) -> str | None:
    """The first text at ``path`` below any element of the document (an XPath ``//A/B``), None when there is none."""
    if isinstance(document, Mapping):
        found = _at(document, path)
        if found is not None:
            return found
        children: Sequence[Any] = list(document.values())
    elif isinstance(document, (list, tuple)):
        children = document
    else:
        return None
    for child in children:
        found = find_value(child, path)
        if found is not None:
            return found
    return None


def _at(element: Any, path: Sequence[str]) -> str | None:
    for candidate in element if isinstance(element, (list, tuple)) else [element]:
        if not path:
            return candidate if isinstance(candidate, str) else ""
        if isinstance(candidate, Mapping) and path[0] in candidate:
            found = _at(candidate[path[0]], path[1:])
            if found is not None:
                return found
    return None


def evaluate(value: Any, parents: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """``value`` (text, mapping or list) with every reference replaced.

    :param parents: the VMs (as documents) of each direct parent, in the order of the role's nodes. The first VM that
        has the value gives it; a role that is no direct parent, and a value nobody has, become empty text.
    """
    if isinstance(value, Mapping):
        return {name: evaluate(member, parents) for name, member in value.items()}
    if isinstance(value, list):
        return [evaluate(member, parents) for member in value]
    if not isinstance(value, str):
        return value
    return _REFERENCE.sub(lambda reference: _lookup(reference.group(1), parents), value)


def _lookup(reference: str, parents: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    role, *path = reference.split(".")
    upper = [part.upper() for part in path]
    for document in parents.get(role, ()) if upper else ():
        found = find_value(document, upper)
        if found is not None:
            return found
    return ""
