# SPDX-License-Identifier: GPL-3.0-or-later
"""Erasing of an attribute: OneGate hands the request's text to an XPath engine, below USER_TEMPLATE."""

from __future__ import annotations

from lxml import etree

from tests.opennebula.user_template import Stored
from tests.opennebula.xml_documents import append, values_of


class ErasePathError(Exception):
    """The text is no path to elements; the message is that of the exception in the real server."""


def without(stored: Stored, path: str) -> Stored | None:
    """What is left when everything that ``path`` names is gone; None when it names nothing.

    Names are case-sensitive, every occurrence goes, ``F/X`` is a member of a vector.

    :param path: the request's text as OneGate has escaped it.
    :raises ErasePathError: when it does not select elements.
    """
    machine = etree.Element("VM")
    append(machine, "USER_TEMPLATE", dict(stored))
    try:
        found = machine.xpath(f"USER_TEMPLATE/{path}")
    except (etree.XPathError, ValueError) as error:
        raise ErasePathError(f"Invalid expression: USER_TEMPLATE/{path}") from error
    if not isinstance(found, list):
        raise ErasePathError("node_set must be a Nokogiri::XML::NodeSet")
    if not found:
        return None
    for element in found:
        element.getparent().remove(element)
    return values_of(machine[0]) if len(machine) else {}
