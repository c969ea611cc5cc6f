#!/usr/bin/python
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Publish attributes on a virtual machine through OneGate."""

from __future__ import annotations

DOCUMENTATION = r"""
module: onegate_vm
short_description: Publish attributes on a virtual machine through OneGate
version_added: "0.1.0"
author: onehpc.ondemand contributors (@onehpc)
description:
  - Sets attributes of the user template of the virtual machine it runs on, or of another one of the same service.
  - Reads first and sends only what differs, all of it in one update, so that OneFlow never sees a part.
  - A value that OneGate would refuse or store changed (a comma, a bracket, a quote, a backslash, a control character,
    a character above U+FFFF, a blank at either end) is refused before anything is sent. Free text can be
    transliterated instead, see O(transliterate).
extends_documentation_fragment:
  - onehpc.ondemand.onegate
  - onehpc.ondemand.attributes
attributes:
  diff_mode:
    details: Values of O(secret_attributes) are not shown.
options:
  attributes:
    description:
      - Names and values. A name is of capital letters, digits and underscores; a value is text or a number.
      - A boolean is refused, since YAML makes one of an unquoted C(YES) where OneFlow waits for the text.
    type: dict
    default: {}
  secret_attributes:
    description: The same, for values that no output may show.
    type: dict
    default: {}
  transliterate:
    description:
      - Names, among the attributes, whose value is free text. What OneGate cannot hold is replaced by what comes close
        and the text is cut to 240 characters.
    type: list
    elements: str
    default: []
  vm_id:
    description: Another virtual machine of the same service. By default the one this runs on.
    type: int
  read_back:
    description: Whether to read after an update and fail when a value is not there as it was sent.
    type: bool
    default: true
seealso:
  - module: onehpc.ondemand.onegate_info
"""

EXAMPLES = r"""
- name: Report that this virtual machine serves
  onehpc.ondemand.onegate_vm:
    attributes:
      READY: "YES"
      ERROR: ""

- name: Report why it does not
  onehpc.ondemand.onegate_vm:
    attributes:
      READY: "NO"
      ERROR: "{{ ansible_failed_result.msg }}"
    transliterate: [ERROR]

- name: Publish the munge key
  onehpc.ondemand.onegate_vm:
    secret_attributes:
      SLURM_MUNGE_KEY: "{{ key.content }}"
"""

RETURN = r"""
updated:
  description: Names of the attributes that differed, in the order given.
  returned: success
  type: list
  elements: str
  sample: [READY]
vm_id:
  description: The virtual machine.
  returned: success
  type: int
  sample: 7
endpoint:
  description: The OneGate endpoint that was used.
  returned: success
  type: str
  sample: http://10.0.0.1:5030
"""

from ansible_collections.onehpc.ondemand.plugins.module_utils.module_runner import run_module
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_arguments import ONEGATE_ARGUMENTS, client_of
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_publish import publish

ARGUMENTS = dict(
    ONEGATE_ARGUMENTS,
    attributes={"type": "dict", "default": {}},
    secret_attributes={"type": "dict", "default": {}, "no_log": True},
    transliterate={"type": "list", "elements": "str", "default": []},
    vm_id={"type": "int"},
    read_back={"type": "bool", "default": True},
)


def run(params, check_mode):
    return publish(
        client_of(params),
        params["attributes"],
        params["secret_attributes"],
        params["transliterate"],
        params["vm_id"],
        params["read_back"],
        check_mode,
    )


def main():
    run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
