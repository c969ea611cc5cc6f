# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of a README, as a reader would type them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Block:
    """A fenced block of code. line: of its fence, from 1; language: as given there, "" without."""

    line: int
    language: str
    text: str


def blocks(markdown: str) -> list[Block]:
    """Every fenced block, in order; an indented one (in a list) without its indentation."""
    found = []
    for match in re.finditer(r"(?ms)^( *)```([\w-]*)\n(.*?)^\1```$", markdown):
        line = markdown.count("\n", 0, match.start()) + 1
        found.append(Block(line, match.group(2), dedent(match.group(3))))
    return found


def commands(block: Block) -> list[str]:
    """The commands of a block of the shell, those of several lines with their line ends."""
    whole = re.sub(r"\\\n", "\\\n\0", block.text)
    return [command.replace("\0", "").strip() for command in re.split(r"\n(?!\0)", whole) if command.strip("\0 ")]
