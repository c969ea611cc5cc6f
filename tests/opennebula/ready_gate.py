# SPDX-License-Identifier: GPL-3.0-or-later
"""When OneFlow takes a VM of a service with ``ready_status_gate`` for ready. Two paths, two different rules."""

from __future__ import annotations


def update_passes(update_text: str) -> bool:
    """An update event passes when its text, without quotes and blanks, contains ``READY=YES`` anywhere.

    So ``SLURMD_READY=YES`` passes, too.
    """
    return "READY=YES" in update_text.replace('"', "").replace(" ", "")


def stored_value_passes(ready: object) -> bool:
    """When OneFlow looks itself (at the start of a wait and when it hears nothing), READY must be ``YES``."""
    return isinstance(ready, str) and ready.strip() == "YES"
