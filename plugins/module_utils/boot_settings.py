# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where the first boot's launcher finds things and how long it waits for them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ONE_ENV


@dataclass(frozen=True)
class BootSettings:
    """Paths, and times in seconds.

    runtime_path: what is forgotten at power-off; state_path: what is kept; baked_path: the collections of the image;
    config_path: the folder of ansible.cfg; programs_path: the folder of ansible-playbook and ansible-pull.
    retry_seconds: the pause before the second attempt, doubled before each later one up to longest_pause_seconds.
    """

    context_seconds: float = 60
    onegate_seconds: float = 120
    pull_seconds: float = 120
    playbook_seconds: float = 840
    retry_seconds: float = 15
    longest_pause_seconds: float = 300
    one_env: str = ONE_ENV
    runtime_path: str = "/run/onehpc"
    state_path: str = "/var/lib/onehpc"
    baked_path: str = "/opt/onehpc/collections"
    config_path: str = "/etc/onehpc"
    programs_path: str = os.path.dirname(sys.executable)

    @property
    def endpoint_file(self):
        """Where the OneGate endpoint that answered is remembered."""
        return os.path.join(self.runtime_path, "onegate_endpoint")

    @property
    def withdrawn_file(self):
        """Holds the id of the boot that has withdrawn READY."""
        return os.path.join(self.runtime_path, "ready_withdrawn")

    @property
    def finished_file(self):
        """Holds the id of the boot whose first boot has finished."""
        return os.path.join(self.runtime_path, "first_boot_finished")

    @property
    def failure_file(self):
        """The attributes that the playbook's own rescue publishes, as JSON."""
        return os.path.join(self.runtime_path, "failure.json")

    @property
    def collections_link(self):
        """The symbolic link that is Ansible's collections path until power-off."""
        return os.path.join(self.runtime_path, "collections")

    @property
    def pulled_path(self):
        """Collections path of the pulled source."""
        return os.path.join(self.state_path, "pulled")
