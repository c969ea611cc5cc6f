# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates: stages with floors, and rules of this repository that no linter knows."""
