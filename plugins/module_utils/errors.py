# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one exception base of this collection: its text is a sentence an administrator can act on."""

from __future__ import annotations


class OnehpcError(Exception):
    """A failure told as a sentence: what failed, where, and what to do. Never holds a secret."""
