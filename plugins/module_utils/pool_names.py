# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names that tie virtual machines, Slurm nodes and drains together."""

from __future__ import annotations

import re

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_errors import PoolError

NODE_NAME_CHARACTERS = 20
PLACEHOLDER_PREFIX = "ph-"

# The reasons we put on nodes, with the scaling mode that put them there. A drain counts as ours only while its reason
# is exactly one of the first four: any other text is somebody else's word, and such a node is left alone.
IDLE_REASON = "onehpc:policies:idle"
RETURNING_REASON = "onehpc:policies:returning"
DIRECT_IDLE_REASON = "onehpc:direct:idle"
DIRECT_RETURNING_REASON = "onehpc:direct:returning"
DRAIN_REASONS = frozenset([IDLE_REASON, RETURNING_REASON, DIRECT_IDLE_REASON, DIRECT_RETURNING_REASON])
GONE_REASON = "onehpc:policies:vm-gone"


def node_name(prefix: str, vm_id: int) -> str:
    """The Slurm node of a worker VM.

    :raises PoolError: the name would be longer than 20 characters.
    """
    name = f"{prefix}{vm_id}"
    if len(name) > NODE_NAME_CHARACTERS:
        raise PoolError(
            f"The node name {name} has more than {NODE_NAME_CHARACTERS} characters: use a shorter ONEAPP_POOL_PREFIX."
        )
    return name


def vm_id_of_node(prefix: str, name: str) -> int | None:
    """The VM id in a node name of ours, None for any other node (placeholders included)."""
    match = re.fullmatch(re.escape(prefix) + r"(0|[1-9][0-9]*)", name)
    return int(match.group(1)) if match and len(name) <= NODE_NAME_CHARACTERS else None


def placeholder_name(role_name: str) -> str:
    """The FUTURE node that stands for workers of a role that do not exist yet."""
    return PLACEHOLDER_PREFIX + role_name


def one_line(reason: str) -> str:
    """A node's present reason in a form that scontrol takes again: printable, in one line, no quotes at its ends.

    Empty when nothing of it is left.
    """
    printable = "".join(character if character.isprintable() else " " for character in reason)
    return " ".join(printable.split()).strip(' "')
