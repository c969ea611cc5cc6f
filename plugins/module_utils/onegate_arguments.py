# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module options by which OneGate is reached (documented in the fragment onehpc.ondemand.onegate)."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ONE_ENV
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate import TIMEOUT_SECONDS, client_from_host
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_endpoint import ENDPOINT_FILE

ONEGATE_ARGUMENTS = {
    "endpoint": {"type": "str"},
    "one_env": {"type": "path", "default": ONE_ENV},
    "endpoint_file": {"type": "path", "default": ENDPOINT_FILE},
    "timeout_seconds": {"type": "float", "default": float(TIMEOUT_SECONDS)},
}


def client_of(params):
    """The OneGateClient that validated module parameters (dict) describe."""
    return client_from_host(
        one_env=params["one_env"],
        endpoint_file=params["endpoint_file"],
        endpoint=params["endpoint"],
        timeout_seconds=params["timeout_seconds"],
    )
