# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole service on one machine: lab hosts, simulated OpenNebula, and the demo's story."""
