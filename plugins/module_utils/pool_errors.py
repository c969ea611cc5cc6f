# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Failures of the pool's own rules."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError


class PoolError(OnehpcError):
    """A tick cannot be carried out."""


class IncompleteReadingError(PoolError):
    """OneGate's picture does not hold together, so nothing may be decided from it."""
