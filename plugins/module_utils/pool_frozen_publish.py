# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sentence about a frozen pool on the portal's own VM."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import OneGateClient
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import transliterate
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen import ERROR_PREFIX
from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_frozen_memory import FrozenMemory


def publish_frozen(client: OneGateClient, sentence: str, memory: FrozenMemory) -> FrozenMemory:
    """Publish the sentence as ERROR, or erase an earlier one ("" for none), only where ERROR is another.

    An ERROR that somebody else has published, for example a failed boot, stays. Returns the memory to keep.
    Raises OneGateError.
    """
    if not sentence and not memory.is_said:
        return memory
    wanted = transliterate(ERROR_PREFIX + sentence) if sentence else ""
    present = client.get_vm().user_template.get("ERROR", "")
    is_ours = present == "" or (isinstance(present, str) and present.startswith(ERROR_PREFIX))
    if is_ours and present != wanted:
        client.put_vm({"ERROR": wanted})
    return replace(memory, is_said=bool(sentence))
