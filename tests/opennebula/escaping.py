# SPDX-License-Identifier: GPL-3.0-or-later
"""How OneGate rewrites an update before it hands it to the core.

OneGate puts quotes round values that have none, character by character and without looking further than one
character to each side. That is why commas, brackets, backslashes and quoted values with an equals sign do not
survive an update. The function is the same from 6.6 to 7.4.
"""

from __future__ import annotations


def escape_attributes(text: str) -> str:
    """The text that reaches the core's template parser for an update with body ``text``."""
    written: list[str] = []
    quoting = False
    for index, character in enumerate(text):
        # index 0 looks at the last character: a negative index counts from the end there, too
        before = text[index - 1]
        after = text[index + 1] if index + 1 < len(text) else ""
        if character == "=":
            if not quoting and after not in ("[", '"'):
                written.append('="')
                quoting = True
            else:
                written.append("=")
        elif character == "," and before != '"':
            written.append('",')
        elif character == "[" and before not in ("=", '"'):
            written.append('"[')
        elif character == "]" and before not in ("=", '"'):
            written.append('"]')
            quoting = False
        elif character in ("\\", "\n") and before != '"':
            written.append('"' + character)
            quoting = False
        else:
            written.append(character)
    escaped = "".join(written).replace("\\n", "\n")
    if quoting and not escaped.endswith(("]", '"')):
        escaped += '"'
    return escaped
