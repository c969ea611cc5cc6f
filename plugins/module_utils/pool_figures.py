# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The attributes that workers publish for OneFlow's elasticity rules."""

from __future__ import annotations

SLURM_PENDING = "SLURM_PENDING"
OLDEST_IDLE = "OLDEST_IDLE"
REPORT_TIME = "REPORT_TIME"


def neutral_figures(report_time: int) -> dict[str, int]:
    """Figures by which OneFlow neither adds nor removes anything.

    Numbers, never empty or erased: OneFlow counts text as 0 but leaves a VM without the attribute out of the mean,
    and the mean of the others would then decide alone.
    """
    return {SLURM_PENDING: 0, OLDEST_IDLE: 0, REPORT_TIME: report_time}
