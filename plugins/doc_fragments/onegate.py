# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the options by which OneGate is reached, and of the group of modules that share them."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  endpoint:
    description:
      - OneGate's address, for example V(http://10.0.0.1:5030). It is then the only one that is tried.
      - By default the endpoint of the context is tried first, then port 5030 of the gateway; the one that answers is
        remembered in O(endpoint_file) and used first by later calls.
    type: str
  one_env:
    description:
      - The file in which OpenNebula's context package leaves the context, with this virtual machine's id and token.
        It is parsed, never sourced.
    type: path
    default: /run/one-context/one_env
  endpoint_file:
    description: Where the endpoint that answered is remembered until the next boot.
    type: path
    default: /run/onehpc/onegate_endpoint
  timeout_seconds:
    description: Time for one call to OneGate, retries of a server that is briefly away included.
    type: float
    default: 10.0
attributes:
  action_group:
    description: C(module_defaults) for C(group/onehpc.ondemand.onegate) sets these options for all of them at once.
    support: full
    membership: [onehpc.ondemand.onegate]
notes:
  - The virtual machine needs C(TOKEN="YES") in its context.
  - The token never appears in any output.
  - No proxy setting of the environment is honoured.
"""
