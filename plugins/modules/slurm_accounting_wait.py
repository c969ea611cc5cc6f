#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for Slurm's accounting daemon, and for the controller whose jobs it records."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_accounting_wait
short_description: Wait for Slurm's accounting daemon, and for the controller whose jobs it records
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Waits until slurmdbd answers. With O(registered), also until the controller answers and slurmdbd lists its port,
    from when on jobs are on record.
  - Runs on the controller's host. Changes nothing.
extends_documentation_fragment:
  - onehpc.ondemand.attributes
attributes:
  check_mode:
    details: The daemons are waited for as in a real run.
  diff_mode:
    support: none
options:
  registered:
    description: The name of the cluster whose controller has to be registered.
    type: str
  wait_seconds:
    description: How long to wait. V(0) asks once.
    type: float
    default: 120.0
"""

EXAMPLES = r"""
- name: Wait for slurmdbd
  onehpc.ondemand.slurm_accounting_wait:

- name: Wait for jobs to be on record
  onehpc.ondemand.slurm_accounting_wait:
    registered: ood
"""

RETURN = r"""
clusters:
  description: The names of all clusters that slurmdbd knows.
  returned: success
  type: list
  elements: str
  sample: [ood]
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils import slurm_accounting_wait
from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module


def main():
    run_module(slurm_accounting_wait.ARGUMENTS, slurm_accounting_wait.run)


if __name__ == "__main__":
    main()
