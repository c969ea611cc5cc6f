# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who changes the size of the pool."""

from __future__ import annotations

# OneFlow's elasticity rules do, by the figures that workers publish.
POLICIES = "policies"
# The portal does; workers publish figures by which OneFlow's rules never fire.
DIRECT = "direct"
SCALING_MODES = (POLICIES, DIRECT)
