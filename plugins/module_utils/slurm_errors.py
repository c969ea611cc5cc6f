# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What can go wrong between this collection and Slurm. Every message is a sentence for an administrator."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError


class SlurmError(OnehpcError):
    """A Slurm command failed, or its answer cannot be understood. Never to be read as "there is nothing"."""


class SlurmUnreachableError(SlurmError):
    """slurmctld did not answer (stopped, silent, or slower than the time allowed)."""


class SlurmAnswerError(SlurmError):
    """A command ended well but its output is not the format that this collection knows."""


class NodeBusyError(SlurmError):
    """slurmctld refused to delete a node because a job still uses it."""
