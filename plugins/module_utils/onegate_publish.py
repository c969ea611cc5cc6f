# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Publishing attributes on a VM: what differs, in one update, and whether it arrived."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import (
    AttributeRefused,
    attribute_text,
    encode_attributes,
    transliterate,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError

SECRET = "<secret>"
SECRET_CHANGED = "<secret, changed>"


def publish(client, attributes, secret_attributes, free_text, vm_id, read_back, check_mode):
    """Make a VM's attributes what they should be; returns the result of the module onegate_vm (dict).

    attributes, secret_attributes: name to value; free_text: names in either whose text is transliterated;
    vm_id: another VM, or None for this one; read_back: compare after the update. Nothing is sent when nothing
    differs. Raises AttributeRefused before anything is sent, and OneGateError.
    """
    wanted = wanted_attributes(attributes, secret_attributes, free_text)
    vm = _read(client, vm_id)
    updated = [name for name, text in wanted.items() if vm.user_template.get(name) != text]
    if updated and not check_mode:
        changes = {name: wanted[name] for name in updated}
        if vm_id is None:
            client.put_vm(changes)
        else:
            client.put_vm_by_id(vm_id, changes)
        if read_back:
            _compare(client, vm_id, changes)
    before = {name: vm.user_template[name] for name in wanted if name in vm.user_template}
    return {
        "changed": bool(updated),
        "updated": updated,
        "vm_id": vm.id,
        "endpoint": client.endpoint,
        "diff": {
            "before": {name: SECRET if name in secret_attributes else value for name, value in before.items()},
            "after": {name: _shown(name, text, secret_attributes, updated) for name, text in wanted.items()},
        },
    }


def wanted_attributes(attributes, secret_attributes, free_text):
    """Name to text (dict) of everything to publish; AttributeRefused when OneGate could not store it as it is."""
    both = sorted(set(attributes) & set(secret_attributes))
    if both:
        raise AttributeRefused(f"{both[0]} is given both as an attribute and as a secret one.")
    wanted = {name: attribute_text(name, value) for name, value in {**attributes, **secret_attributes}.items()}
    for name in free_text:
        if name not in wanted:
            raise AttributeRefused(f"{name} is to be transliterated, but is not among the attributes.")
        wanted[name] = transliterate(wanted[name])
    encode_attributes(wanted)
    return wanted


def _read(client, vm_id):
    return client.get_vm() if vm_id is None else client.get_vm_by_id(vm_id)


def _compare(client, vm_id, changes):
    vm = _read(client, vm_id)
    lost = [name for name, text in changes.items() if vm.user_template.get(name) != text]
    if lost:
        raise OneGateError(
            "GET",
            "/vm" if vm_id is None else f"/vms/{vm_id}",
            client.endpoint,
            200,
            f"OneGate at {client.endpoint} took the update of VM {vm.id}, but {', '.join(lost)} read back different: "
            "something else writes the same attribute, or the server changed the value.",
        )


def _shown(name, text, secret_attributes, updated):
    if name not in secret_attributes:
        return text
    return SECRET_CHANGED if name in updated else SECRET
