# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookup plugin: role variables with a wrong value, wherever they come from."""

from __future__ import annotations

DOCUMENTATION = r"""
name: refused_variables
short_description: Role variables with a wrong value, wherever they come from
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Judges every role variable that a context parameter can set by the same rule as the parameter itself, so that a
    value of an inventory or of the command line is refused as one of the context is.
  - An empty value counts as not given.
options: {}
"""

EXAMPLES = r"""
- name: Refuse wrong values
  ansible.builtin.assert:
    that: refused == []
    fail_msg: "{{ refused | join('; ') }}"
  vars:
    refused: "{{ query('onehpc.ondemand.refused_variables') }}"
"""

RETURN = r"""
_raw:
  description: A sentence for each wrong value, which names the variable, its parameter and what is expected.
  type: list
  elements: str
"""

from ansible.plugins.lookup import LookupBase

from ansible_collections.onehpc.ondemand.plugins.module_utils.parameters import PARAMETERS, refused_variables


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        names = [parameter.variable for parameter in PARAMETERS if parameter.variable in variables]
        return refused_variables({name: self._templar.template(variables[name]) for name in names})
