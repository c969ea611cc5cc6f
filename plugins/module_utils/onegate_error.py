# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The error of every failed OneGate call."""

from __future__ import annotations

from ansible_collections.onehpc.ondemand.plugins.module_utils.errors import OnehpcError


class OneGateError(OnehpcError):
    """A OneGate call failed, or its answer was not complete.

    method, path, endpoint: the call. endpoint is "" when the answer was judged apart from a call.
    status: HTTP status (int), or None when no complete HTTP answer came.
    sentence: what failed and what to do; also the text of the exception. Never holds the token.
    retryable: the same call may succeed later without anyone's help (5xx, connection, timeout).
    """

    def __init__(self, method, path, endpoint, status, sentence, retryable=False):
        super().__init__(sentence)
        self.method = method
        self.path = path
        self.endpoint = endpoint
        self.status = status
        self.sentence = sentence
        self.retryable = retryable

    @property
    def not_authorized(self):
        """True for 401 and 403: trying again cannot help."""
        return self.status in (401, 403)
