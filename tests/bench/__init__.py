# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tick costs, as ratios of CPU time measured side by side."""
