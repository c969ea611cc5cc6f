# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one way in which this collection's modules run. The only shared code that needs Ansible."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError


def run_module(arguments, run, **settings):
    """Validate the parameters, call `run` once and leave with its result.

    arguments: argument spec (dict); run(params, check_mode): the module's result (dict), or OnehpcError, whose text
    becomes the failure's message; settings: of AnsibleModule, such as required_if.
    """
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True, **settings)
    try:
        result = run(module.params, module.check_mode)
    except OnehpcError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)
