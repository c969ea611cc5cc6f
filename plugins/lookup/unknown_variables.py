# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookup plugin: variables that begin like those of this collection's roles and are none of them."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unknown_variables
short_description: Variables that begin like those of this collection's roles and are none of them
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Finds misspelt variables of an inventory or of the command line, which would have no effect and not say so.
  - To be used before a role has registered results.
options: {}
"""

EXAMPLES = r"""
- name: Name the variables that no role has
  ansible.builtin.debug:
    msg: "{{ query('onehpc.ondemand.unknown_variables') }}"
"""

RETURN = r"""
_raw:
  description: The name of each, with the most similar variable that exists, if there is a similar one.
  type: list
  elements: str
"""

from ansible.plugins.lookup import LookupBase

from ansible_collections.onehpc.ondemand.plugins.plugin_utils.role_variables import unknown_names


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        return [f"{name} ({close}?)" if close else name for name, close in unknown_names(variables)]
