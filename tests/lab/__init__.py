# SPDX-License-Identifier: GPL-3.0-or-later
"""Real hosts on one machine: user-mode Linux guests on two networks inside a network namespace of their own."""
