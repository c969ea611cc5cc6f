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
    value of an inventory or of the command line is refused as one of the context is. There an empty value counts as not
    given.
  - Judges every other variable of this collection's roles, also of those that come later in the play, by the type that
    the role's argument specification gives. A value that cannot be resolved yet is left to the role.
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
  description: A sentence for each wrong value, which names the variable, its parameter if any and what is expected.
  type: list
  elements: str
"""

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ansible_collections.onehpc.ondemand.plugins.module_utils.parameters import PARAMETERS, refused_variables
from ansible_collections.onehpc.ondemand.plugins.plugin_utils.role_variables import role_options, wrong_types


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        names = [parameter.variable for parameter in PARAMETERS if parameter.variable in variables]
        refused = refused_variables({name: self._templar.template(variables[name]) for name in names})
        options = {name: option for name, option in role_options().items() if name in variables and name not in names}
        return refused + wrong_types(self._resolved(options, variables), options)

    def _resolved(self, names, variables):
        values = {}
        for name in names:
            try:
                values[name] = self._templar.template(variables[name])
            except AnsibleError:
                continue
        return values
