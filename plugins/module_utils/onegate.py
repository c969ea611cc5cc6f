# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Client of OneGate, the service by which a VM reads and publishes attributes."""

from __future__ import annotations

import email.utils
import json
import re
import time
from urllib.parse import quote, urlencode

from ansible_collections.onehpc.ondemand.plugins.module_utils.context import ONE_ENV, ContextError, read_context
from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.http_exchange import ExchangeFailed, exchange
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_encode import encode_attributes
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_endpoint import (
    ENDPOINT_FILE,
    candidates,
    default_gateway,
    find_endpoint,
    forget_endpoint,
    normalised_endpoint,
    remember_endpoint,
    remembered_endpoint,
    request_headers,
)
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_parse import parse_service, parse_vm

TIMEOUT_SECONDS = 10
RETRY_PAUSES_SECONDS = (0.25, 0.5, 1.0)

_ADVICE = {
    401: "The token of this VM was not accepted: check that the VM has TOKEN=YES in its context and that "
    "TOKENTXT and VMID in one_env are its own.",
    403: "OneGate does not allow this change: see the permissions and restricted attributes in onegate-server.conf.",
    404: "OneGate did not find it; it also answers so while OneFlow is down.",
}
_SERVER_ADVICE = "The cause is only in OneGate's own log on the Front-end."


class OneGateClient:
    """Calls of one VM to one endpoint. Safe for use by several threads at once.

    timeout_seconds: for one call with all its retries. A 5xx, a refused connection and a broken answer are tried
    again up to three times; 4xx never, and never what would act twice. Every method raises OneGateError; none ever
    shows the token.
    server_clock_skew_seconds: the server's clock minus ours at the last answer (float, good to about a second),
    or None while no answer carried a Date (OneGate itself sends none, a proxy before it does).
    """

    def __init__(self, endpoint, token, vm_id, timeout_seconds=TIMEOUT_SECONDS, on_unreachable=None):
        """on_unreachable: called without arguments when no HTTP answer came at all, or a 401: another OneGate than the
        VM's own answers that, for example the gateway's while the context's was away.
        """
        self.endpoint = normalised_endpoint(endpoint)
        if self.endpoint is None:
            raise ContextError(f"{endpoint!r} is not an endpoint of the form http://host:5030.")
        if not re.fullmatch(r"[\x21-\x7e]+", token or ""):
            raise ContextError("The OneGate token is empty or holds blanks: check TOKENTXT in one_env.")
        self.vm_id = int(vm_id)
        self.timeout_seconds = timeout_seconds
        self.server_clock_skew_seconds = None
        self._token = token
        self._on_unreachable = on_unreachable

    def get_vm(self):
        """This VM (Vm)."""
        return parse_vm(self._read("/vm"), self.endpoint)

    def get_vm_by_id(self, vm_id):
        """Another VM (Vm) of the same service; status 400 when it is not in the service."""
        path = f"/vms/{vm_id}"
        return parse_vm(self._read(path), self.endpoint, path)

    def get_service(self):
        """The service of this VM (Service), without addresses and attributes; status 400 when it has none."""
        return parse_service(self._read("/service"), self.endpoint)

    def put_vm(self, attributes):
        """Publish attributes (mapping of name to str or number) on this VM, all or none."""
        self._update("/vm", attributes)

    def put_vm_by_id(self, vm_id, attributes):
        """Publish attributes on another VM of the same service, all or none."""
        self._update(f"/vms/{vm_id}", attributes)

    def put_cardinality(self, role_name, cardinality):
        """Let OneFlow bring a role of this service to so many VMs; status 400 when it does not.

        It does not outside state RUNNING, nor out of the role's bounds. Fewer than it has removes the oldest.
        """
        self._act("PUT", f"/service/role/{quote(role_name, safe='')}", {"cardinality": cardinality})

    def terminate_vm(self, vm_id):
        """Let a VM of the same service be shut down and removed; it goes on running for a while."""
        self._act("POST", f"/vms/{vm_id}/action", {"action": {"perform": "terminate"}})

    def _act(self, method, path, order):
        headers = {"Content-Type": "application/json"}
        self._call(method, path, json.dumps(order).encode("ascii"), headers, lambda body: None, is_repeatable=False)

    def _read(self, path):
        return self._call("GET", path, None, {}, json.loads)

    def _update(self, path, attributes):
        # As a form: a raw body holding a % is refused when it bears urllib's default content type.
        form = urlencode({"data": encode_attributes(attributes), "type": "1"}).encode("ascii")
        self._call("PUT", path, form, {"Content-Type": "application/x-www-form-urlencoded"}, lambda body: None)

    def _call(self, method, path, body, headers, decode, is_repeatable=True):
        deadline = Deadline(self.timeout_seconds)
        headers = dict(headers, **request_headers(self._token, self.vm_id))
        for pause_seconds in (RETRY_PAUSES_SECONDS if is_repeatable else ()) + (None,):
            try:
                return self._call_once(method, path, body, headers, decode, deadline)
            except OneGateError as error:
                if not error.retryable or pause_seconds is None or deadline.remaining_seconds <= pause_seconds:
                    if error.status in (None, 401) and self._on_unreachable:
                        self._on_unreachable()
                    raise
            time.sleep(pause_seconds)
        raise AssertionError("unreachable")

    def _call_once(self, method, path, body, headers, decode, deadline):
        try:
            answer = exchange(method, self.endpoint, path, headers, body, deadline)
        except ExchangeFailed as why:
            advice = "Check that OneGate runs and can be reached from this VM."
            raise self._error(method, path, None, "could not be used for", f"{why}. {advice}", True) from None
        self._note_clock(answer.headers.get("date"))
        if answer.status not in (200, 204):
            said = self._printable(answer.body)
            advice = _ADVICE.get(answer.status, _SERVER_ADVICE if answer.status >= 500 else "")
            sentence = " ".join(part for part in (said and said.rstrip(".") + ".", advice) if part)
            verb = f"answered {answer.status} to"
            raise self._error(method, path, answer.status, verb, sentence, answer.status >= 500)
        try:
            return decode(answer.body)
        except ValueError:
            raise self._error(method, path, 200, "answered 200 to", "the body is not JSON.", True) from None

    def _error(self, method, path, status, verb, rest, retryable):
        sentence = f"OneGate at {self.endpoint} {verb} {method} {path}: {rest}"
        return OneGateError(method, path, self.endpoint, status, sentence.rstrip(": "), retryable)

    def _printable(self, body):
        text = body[:200].decode("utf-8", "replace").replace(self._token, "<token>")
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())

    def _note_clock(self, date):
        try:
            self.server_clock_skew_seconds = email.utils.parsedate_to_datetime(date).timestamp() - time.time()
        except (TypeError, ValueError, IndexError):
            pass


def client_from_host(
    one_env=ONE_ENV, endpoint_file=ENDPOINT_FILE, endpoint=None, timeout_seconds=TIMEOUT_SECONDS, context=None
):
    """The client of the VM this runs on.

    one_env: path of the context; context: an already read Context instead; endpoint: use this one and ask no other;
    endpoint_file: where the endpoint that answered is remembered for this boot (it is forgotten when it stops
    answering). Raises ContextError or OneGateError.
    """
    context = context or read_context(one_env)
    if context.token is None or context.vm_id is None:
        raise ContextError(
            f"{one_env} has no TOKENTXT or no VMID, so OneGate cannot be used: "
            'the VM template needs TOKEN="YES" in its CONTEXT.'
        )
    if endpoint:
        return OneGateClient(endpoint, context.token, context.vm_id, timeout_seconds)
    possible = candidates(context.onegate_endpoint, context.gateway or default_gateway())
    found = remembered_endpoint(endpoint_file)
    if found not in possible:
        found = find_endpoint(possible, context.token, context.vm_id)
        remember_endpoint(found, endpoint_file)

    def forget():
        forget_endpoint(endpoint_file)

    return OneGateClient(found, context.token, context.vm_id, timeout_seconds, on_unreachable=forget)
