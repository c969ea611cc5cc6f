# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Attributes as OneGate's update takes them, and the values it would refuse or silently change.

The rules were measured on OneGate 7.4: a comma, a bracket or an emoji is a 500 for the whole update; a backslash,
a quote at the end or a blank at either end is stored as something else behind a 200; an empty unquoted value is
stored as one quote character. So such values are refused here, before anything is sent.
"""

from __future__ import annotations

import math
import re
import unicodedata

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError

FREE_TEXT_CHARACTERS = 240
RESTRICTED_NAMES = frozenset(["SERVICE_ID", "ROLE_NAME", "SCHED_REQUIREMENTS"])

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_REFUSED = {",": "a comma", "[": "a bracket", "]": "a bracket", '"': "a double quote", "\\": "a backslash"}
_TRANSLITERATED = str.maketrans({",": ";", "[": "(", "]": ")", '"': "'", "\\": "/", "=": ":"})


class AttributeRefused(OnehpcError):
    """An attribute OneGate would refuse or store changed. The sentence names it, never its value."""


def attribute_text(name, value):
    """The text that stands for a value (str, int or finite float); AttributeRefused for anything else.

    A boolean is refused because YAML turns an unquoted YES into one, and OneFlow waits for the text YES.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        raise AttributeRefused(f"{name} is a YAML boolean; quote the text that should be published, e.g. 'YES'.")
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise AttributeRefused(f"{name} is of type {type(value).__name__}; only text and numbers can be published.")


def encode_attributes(attributes):
    """A mapping of name to value as the data of one update: one KEY=value per line, an empty value as KEY="".

    AttributeRefused when a name or a value would be refused or changed by the server; then nothing may be sent,
    since one bad line loses the whole update.
    """
    return "\n".join(_line(name, value) for name, value in attributes.items())


def _line(name, value):
    _check_name(name)
    text = attribute_text(name, value)
    what = refused_part(text)
    if what:
        raise AttributeRefused(
            f"The value of {name} holds {what}, which OneGate refuses or changes: use another character or base64."
        )
    return f"{name}={text}" if text else f'{name}=""'


def _check_name(name):
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise AttributeRefused(
            f"{name!r} cannot be the name of an attribute: capital letters, digits and _ only, not a digit first."
        )
    if name in RESTRICTED_NAMES:
        raise AttributeRefused(f"{name} belongs to OpenNebula; OneGate does not let a VM change it.")


def refused_part(text):
    """What in a value (str) OneGate would refuse or change, as words with the position (from 1), or None."""
    if text != text.strip(" \t"):
        return "a blank at its start or end"
    for position, character in enumerate(text, 1):
        what = _REFUSED.get(character) or _unsendable(character)
        if what:
            return f"{what} at position {position}"
    return None


def _unsendable(character):
    if unicodedata.category(character) == "Cc" and character != "\t":
        return "a control character"
    if character > "\uffff":
        return "a character above U+FFFF"
    if unicodedata.category(character) == "Cs" or character in "\ufffe\uffff":
        return "a character XML cannot hold"
    return None


def transliterate(text, limit=FREE_TEXT_CHARACTERS):
    """Free text made fit for OneGate, never refused.

    , [ ] " \\ = and control characters become ; ( ) ' / : and a blank, what OneGate cannot hold becomes ?;
    then trimmed and cut to `limit` characters.
    """
    fit = "".join(_fit(character) for character in text.translate(_TRANSLITERATED))
    return fit.strip()[:limit].rstrip()


def _fit(character):
    if unicodedata.category(character) == "Cc":
        return " "
    return "?" if _unsendable(character) else character
