# SPDX-License-Identifier: GPL-3.0-or-later
"""Molecule's scenarios: the hosts they share, running them, and which of them a change concerns."""
