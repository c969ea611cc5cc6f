# SPDX-License-Identifier: GPL-3.0-or-later
"""A VM's USER_TEMPLATE: how an update of it is checked, merged and shown.

Stored form: name -> list of values, since one name may occur several times.
"""

from __future__ import annotations

from collections.abc import Collection

from tests.opennebula.template_syntax import TemplateSyntaxError, Value, parse_template

Stored = dict[str, list[Value]]
Shown = str | dict[str, str] | list[Value]


class CoreRefused(Exception):
    """The core refused the update; nothing of it is stored."""


def first_restricted_name(escaped: str, restricted: Collection[str]) -> str | None:
    """The first protected name of the escaped update, as it is written there.

    :param restricted: upper-case names.

    A blank beside the name hides it: OneGate compares the text left of the equals sign as it stands.
    """
    for line in escaped.split("\n"):
        name = line.split("=")[0]
        if name.upper() in restricted:
            return name
    return None


def through_xmlrpc(text: str) -> str:
    """The text as the core receives it.

    :raises CoreRefused: for what XML 1.0 or the core's XML-RPC library refuses: control characters and everything
        above the basic plane. XML turns carriage returns into newlines.
    """
    for character in text:
        code = ord(character)
        if code > 0xFFFF:
            raise CoreRefused(
                "Call XML not a proper XML-RPC call.  "
                f"{len(text.encode(errors='replace'))}-byte supposed UTF-8 string is not valid UTF-8.  "
                "UTF-8 string contains a character not in the Basic Multilingual Plane "
                f"(first byte 0xffffff{character.encode()[0]:x})"
            )
        if not (code in (0x09, 0x0A, 0x0D) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD):
            raise CoreRefused("Call XML not a proper XML-RPC call.  Call is not valid XML.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_update(core_text: str) -> list[tuple[str, Value]]:
    """The attributes of a text as the core has received it.

    :raises CoreRefused: when the core cannot parse it.
    """
    try:
        return parse_template(core_text)
    except TemplateSyntaxError as error:
        raise CoreRefused(f"[one.vm.update] {error}") from error


def merge(stored: Stored, attributes: list[tuple[str, Value]]) -> Stored:
    """A new stored form: every name of ``attributes`` replaces its old values, other names stay."""
    names = {name for name, _ in attributes}
    merged = {name: list(values) for name, values in stored.items() if name not in names}
    for name, value in attributes:
        merged.setdefault(name, []).append(value)
    return merged


def shown_value(values: list[Value]) -> Shown:
    """One value as itself, several as a list; the blanks round a text are lost on the way out."""
    trimmed: list[Value] = [
        value.strip() if isinstance(value, str) else {name: member.strip() for name, member in value.items()}
        for value in values
    ]
    return trimmed[0] if len(trimmed) == 1 else trimmed


def shown(stored: Stored) -> dict[str, Shown]:
    """The USER_TEMPLATE of an answer, sorted by name as the core keeps it."""
    return {name: shown_value(stored[name]) for name in sorted(stored)}


def as_text(stored: Stored) -> str:
    """The attributes as the text of a template."""
    lines = [f"{name}={_quoted(value)}" for name, values in stored.items() for value in values]
    return "\n".join(lines)


def _quoted(value: Value) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '\\"') + '"'
    return "[" + ",".join(f"{name}={_quoted(member)}" for name, member in value.items()) + "]"
