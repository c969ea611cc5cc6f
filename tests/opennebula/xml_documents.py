# SPDX-License-Identifier: GPL-3.0-or-later
"""The core's objects as XML: names are elements, an object holds elements, a list repeats its element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lxml import etree

from tests.opennebula.template_syntax import Value
from tests.opennebula.user_template import Stored


def append(parent: etree._Element, name: str, value: Any) -> None:
    """Add ``value`` below ``parent``; texts in upper-case attributes are CDATA, as the core writes templates."""
    if isinstance(value, list):
        for item in value:
            append(parent, name, item)
        return
    element = etree.SubElement(parent, name)
    if isinstance(value, Mapping):
        for member, inner in value.items():
            append(element, member, inner)
    elif str(value):
        element.text = etree.CDATA(str(value)) if "]]>" not in str(value) else str(value)


def written(name: str, value: Any) -> str:
    """One object as the text of a document."""
    root = etree.Element("root")
    append(root, name, value)
    return etree.tostring(root[0], encoding="unicode")


def values_of(template: etree._Element) -> Stored:
    """The values of a USER_TEMPLATE element, in their order."""
    stored: Stored = {}
    for element in template:
        value: Value = {member.tag: member.text or "" for member in element} if len(element) else element.text or ""
        stored.setdefault(element.tag, []).append(value)
    return stored
